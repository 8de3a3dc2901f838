"""Several models as one, in any mix."""

import re
from pathlib import Path

import numpy as np
import pytest
from program import run
from test_models import MODELS, STRANGE, TAGS, WORDS

from tagger import CRFTagger, HMMTagger, Sentence, TaggerError, save_model
from tagger.chain.pack import Pack
from tagger.crf.candidates import own_candidates
from tagger.crf.candidates.proposal import DEFAULT_THRESHOLD
from tagger.crf.scorer import FeatureScorer
from tagger.models.ensemble import Ensemble
from tagger.models.store import load_model

DATA = Path(__file__).parent.parent / "data"


MIXES = [
    ("hmm", "crf"),
    ("crf", "hmm-first-order", "hmm"),
    ("crf-second-order", "crf-candidates"),
    ("hmm", "crf-second-order"),
    ("crf-candidates", "hmm-first-order"),
    ("bilstm", "crf"),
]


@pytest.fixture(scope="module", params=MIXES, ids="+".join)
def members(request):
    return [MODELS[kind]().fit(WORDS, TAGS) for kind in request.param]


def together(members):
    return Ensemble(members, [f"{i}.npz" for i in range(len(members))])


def lattices_of(members, words):
    """The lattice of each member; a CRF beside an HMM of second order scores the HMM's candidates."""
    lattices = [next(member.lattices([words]))[1] for member in members]
    if [member.kind for member in members] == ["hmm", "crf"] and members[1].proposer_ is None:
        lattices[1] = members[1].build_candidate_scorer()([words], lattices[0])
    return lattices


def emissions(crf, words):
    """The emissions (N, K) of one sentence, whose rows are its tokens."""
    return FeatureScorer(crf.features_, crf.weights_, crf.tag_parts_)([words], Pack.of([len(words)]))


def test_marginals_are_the_mean(members):
    for words, P in zip(WORDS + STRANGE, together(members).predict_marginals(WORDS + STRANGE), strict=True):
        each = [lattice.marginals() for lattice in lattices_of(members, words)]
        np.testing.assert_allclose(P, np.reshape(sum(each) / len(each), P.shape), rtol=1e-5)  # a CRF in float32


def test_a_crf_beside_an_hmm_is_the_crf_on_the_candidates_of_both(monkeypatch):
    hmm, crf = MODELS["hmm"]().fit(WORDS, TAGS), MODELS["crf"]().fit(WORDS, TAGS)
    monkeypatch.setattr(own_candidates, "MARGIN", 5.0)
    added, few_tags = 0, False
    for words in WORDS:
        candidates, own = lattices_of([hmm, crf], words)[0], next(crf.lattices([words]))[1]
        few = lattices_of([hmm, crf], words)[1]
        allowed = few.candidates.dense(np.ones(len(few.candidates.tags)), len(hmm.classes_)) > 0
        np.testing.assert_allclose(few.marginals(), own.restrict(allowed).marginals(), atol=1e-6)
        P, E = candidates.marginals(), emissions(crf, words)
        likely = E.max(axis=1, keepdims=True) - own_candidates.MARGIN <= E
        proposed = (P > DEFAULT_THRESHOLD) | (P.max(axis=1, keepdims=True) == P)
        assert (allowed == (proposed | likely)).all()
        added += (allowed & ~proposed).sum()
        few_tags |= not allowed.all()
    assert added and few_tags


def test_a_crf_adds_no_tag_that_a_constraint_forbids():
    hmm, crf = MODELS["hmm"]().fit(WORDS, TAGS), MODELS["crf"]().fit(WORDS, TAGS)
    few = lattices_of([hmm, crf], WORDS[0])[1]
    allowed = np.zeros((len(WORDS[0]), len(hmm.classes_)), bool)
    allowed[:-1, 1] = True  # the last token allows nothing
    chosen = few.restrict(allowed).candidates
    assert chosen.widths.tolist() == [1] * len(WORDS[0]) and chosen.tags[:-1].tolist() == [1] * (len(WORDS[0]) - 1)
    assert few.restrict(allowed).path_scores(chosen.tags) == -np.inf


def test_the_best_tags_are_the_most_probable_ones(members):
    ensemble = together(members)
    for words, tags, P in zip(
        WORDS + STRANGE, ensemble.predict(WORDS + STRANGE), ensemble.predict_marginals(WORDS + STRANGE), strict=True
    ):
        assert len(tags) == len(words)
        chosen = [ensemble.classes_.index(tag) for tag in tags]
        np.testing.assert_allclose(P[range(len(words)), chosen], P.max(axis=1, initial=0.0), atol=1e-12)
    assert ensemble.predict(WORDS) == TAGS and ensemble.score(WORDS, TAGS) == 1.0


def test_taggings_are_as_probable_as_their_tags_together(members):
    ensemble = together(members)
    (found,), (P,) = ensemble.predict_nbest(WORDS[:1], 5), ensemble.predict_marginals(WORDS[:1])
    possible = np.prod((P > 0).sum(axis=1))  # few, if all members have candidates
    assert [p for p, _ in found] == sorted((p for p, _ in found), reverse=True) and len(found) == min(5, possible)
    for probability, tags in found:
        own = [P[t, ensemble.classes_.index(tag)] for t, tag in enumerate(tags)]
        assert probability == pytest.approx(np.prod(own), rel=1e-6)  # members of float32


def test_constraints_reach_every_member(members):
    """What is known of one token changes what the members believe of its neighbours."""
    ensemble = together(members)
    allowed = np.ones((4, len(ensemble.classes_)), bool)
    allowed[1] = [tag == "V" for tag in ensemble.classes_]
    (_, lattice), *_ = ensemble.lattices(WORDS[:1])
    found = lattice.restrict(allowed).marginals()
    each = [own.restrict(allowed).marginals() for own in lattices_of(members, WORDS[0])]
    np.testing.assert_allclose(found, sum(each) / len(each), atol=1e-12)
    np.testing.assert_allclose(found[1], allowed[1], atol=1e-6)
    nothing = lattice.restrict(np.zeros_like(allowed))
    assert nothing.path_scores(nothing.best())[0] == -np.inf


def test_a_model_with_itself_has_its_own_marginals_and_words(members):
    member = members[0]
    twice = together([member, member])
    for a, b in zip(twice.predict_marginals(WORDS), member.predict_marginals(WORDS), strict=True):
        np.testing.assert_allclose(a, b, atol=1e-7)
    assert twice.lexicon_.frequency(["the", "zebra"]).tolist() == member.lexicon_.frequency(["the", "zebra"]).tolist()


def test_it_knows_the_words_of_all_members():
    more = HMMTagger().fit([*WORDS, ["the", "zebra", "runs", "very", "fast"]], [*TAGS, ["D", "N", "V", "J", "J"]])
    ensemble = together([HMMTagger().fit(WORDS, TAGS), more])
    assert ensemble.lexicon_.known(["zebra", "dog", "gnu"]).tolist() == [True, True, False]
    alike = [HMMTagger().fit([Sentence([word, "b"], ["X", "Y"])]) for word in ("ant", "bee")]
    assert Ensemble(alike, ["a", "b"]).lexicon_.known(["ant", "bee"]).all()
    assert len(ensemble.seen_) == 2  # the sentences of five words and more


def test_other_tags_are_refused(tmp_path):
    save_model(HMMTagger().fit(WORDS, TAGS), tmp_path / "a.npz")
    save_model(CRFTagger(max_iterations=3).fit([["a", "b"]], [["X", "N"]]), tmp_path / "b.npz")
    with pytest.raises(TaggerError, match=r". D J P V.*a.npz.*X.*b.npz"):
        load_model([str(tmp_path / "a.npz"), str(tmp_path / "b.npz")])


def test_commands_take_several_models(tmp_path):
    for make, name in ((HMMTagger(), "hmm.npz"), (CRFTagger(max_iterations=20, l2=0.05), "crf.npz")):
        save_model(make.fit([Sentence(w, t) for w, t in zip(WORDS, TAGS, strict=True)]), tmp_path / name)
    (tmp_path / "gold.txt").write_text(" ".join(f"{w}/{t}" for w, t in zip(WORDS[2], TAGS[2], strict=True)) + "\n")
    both = ("-m", "hmm.npz", "-m", "crf.npz")
    result = run(tmp_path, "tag", *both, "--nbest", 2, input="the dog barks .\n")
    assert result.out.split("\n")[0].endswith("the/D dog/N barks/V ./.") and result.out.startswith("1\t"), result.err
    result = run(tmp_path, "tag", *both, "--keep-tags", "--output-format", "tsv", input="the dog/V barks\n")
    assert result.out.split("\n")[1] == "dog\tV"
    result = run(tmp_path, "eval", "gold.txt", *both, "--report", "page.html")
    assert ["accuracy", "100.00", "%"] in [line.split() for line in result.out.splitlines()], result.err
    assert "hmm.npz and crf.npz" in result.err
    title = re.search("<title>(.*)</title>", (tmp_path / "page.html").read_text("utf-8"))[1]
    assert all(name in title for name in ("hmm.npz", "crf.npz", "gold.txt"))
    assert run(tmp_path, "tag", *both, "-o", "crf.npz").code == 1  # an input is never written over
    result = run(tmp_path, "explain", *both, input="the dog\n")
    assert result.code == 2
    assert "Repeat -m" in run(tmp_path, "tag", "--help").out
    assert "Repeat -m" not in run(tmp_path, "explain", "--help").out


def test_a_member_that_is_changed_is_scored_as_it_is_now():
    hmm, crf = MODELS["hmm"]().fit(WORDS, TAGS), MODELS["crf"]().fit(WORDS, TAGS)
    both = together([hmm, crf])
    before = both.predict_marginals(WORDS)
    crf.weights_ = np.zeros_like(crf.weights_)
    after, fresh = both.predict_marginals(WORDS), together([hmm, crf]).predict_marginals(WORDS)
    assert any((a != b).any() for a, b in zip(before, after, strict=True))
    for a, b in zip(after, fresh, strict=True):
        np.testing.assert_array_equal(a, b)
