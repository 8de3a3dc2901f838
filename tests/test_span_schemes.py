"""Models of span tags: what a scheme forbids has no part in decoding, and in the loss of a CRF."""

import random
from itertools import product

import numpy as np
import oracle
import pytest
from test_spans import legal_sequence, rewritten

from tagger import CRFTagger, HMMTagger, PooledTagger, Sentence, load_model, recognize_scheme, save_model
from tagger.corpus.span_schemes import SCHEMES
from tagger.crf.candidates.objective import CandidateLikelihood
from tagger.crf.objective import PenalizedLikelihood
from tagger.errors import ModelError, TrainingError
from tagger.models.ensemble import Ensemble

MODELS = {
    "crf": lambda **settings: CRFTagger(max_iterations=8, **settings),
    "crf of order 2": lambda **settings: CRFTagger(order=2, candidates=0.1, max_iterations=8, **settings),
    "crf of candidates": lambda **settings: CRFTagger(candidates=0.05, max_iterations=8, **settings),
    "pool": lambda **settings: PooledTagger(max_iterations=8, **settings),
    "hmm": HMMTagger,
    "hmm of order 1": lambda **settings: HMMTagger(order=1, **settings),
}


def corpus(scheme, count, seed=0, longest=20):
    """Sentences whose words tell a little of their tags."""
    rng = random.Random(seed)
    sentences = []
    while len(sentences) < count:
        tags = legal_sequence(rng, scheme, ("PER", "LOC"))
        if 0 < len(tags) <= longest:
            words = [f"{tag[-1].lower() if rng.random() < 0.6 else 'x'}{rng.randint(0, 9)}" for tag in tags]
            sentences.append(Sentence(words, tags))
    return sentences


@pytest.fixture(scope="module", params=SCHEMES)
def scheme(request):
    return request.param


@pytest.mark.parametrize("kind", MODELS)
def test_all_taggings_are_legal(scheme, kind, tmp_path):
    model = MODELS[kind]().fit(corpus(scheme, 60))
    assert model.scheme_ == scheme
    text = [sentence.words for sentence in corpus(scheme, 80, seed=1)] + [["x1"], ["new"] * 7]
    tags = model.predict(text)
    assert all(rewritten(sentence, scheme) == sentence for sentence in tags)
    for taggings, P in zip(model.predict_nbest(text, 5), model.predict_marginals(text), strict=True):
        assert all(rewritten(path, scheme) == path for _, path in taggings)
        np.testing.assert_allclose(P.sum(axis=1), 1.0, atol=1e-6)
    first = P[0]  # a first token cannot be inside of a span
    impossible = [p for p, tag in zip(first, model.classes_, strict=True) if not_first(tag, scheme)]
    assert kind == "pool" or not any(impossible)  # a pool leaves room for tags that are no candidates
    save_model(model, tmp_path / "model.npz")
    loaded = load_model(tmp_path / "model.npz")
    assert loaded.scheme_ == scheme and loaded.predict(text) == tags
    free = MODELS[kind](scheme="none").fit(corpus(scheme, 60))
    assert free.scheme_ is None
    batches = (free.predict_nbest(text[begin : begin + 20], 20) for begin in range(0, len(text), 20))
    taggings = (path for batch in batches for sentence in batch for _, path in sentence)
    assert any(rewritten(path, scheme) != path for path in taggings)


def test_few_candidates_leave_a_legal_path(scheme):
    """With one or two candidates a token, the most probable tags alone make no legal path in some sentences."""
    model = CRFTagger(order=2, candidates=0.45, max_iterations=8).fit(corpus(scheme, 60))
    text = [sentence.words for sentence in corpus(scheme, 300, seed=1)]
    assert all(rewritten(sentence, scheme) == sentence for sentence in model.predict(text))


def not_first(tag, scheme):
    return tag[0] == "B" if scheme == "iob1" else tag[0] in "IME"


def test_marginals_are_those_of_the_legal_paths(scheme):
    """A model without the scheme has the same weights; what the scheme leaves of its paths is enumerated."""
    model = CRFTagger(max_iterations=8).fit(corpus(scheme, 60))
    words = ["p3", "x4", "l2"]
    P = model.predict_marginals([words])[0]
    model.scheme_ = None
    every = model.predict_nbest([words], len(model.classes_) ** 3)[0]
    legal = [(p, path) for p, path in every if rewritten(path, scheme) == path]
    assert len(legal) < len(every)
    expected = np.zeros_like(P)
    for p, path in legal:
        expected[np.arange(3), [model.classes_.index(tag) for tag in path]] += p
    np.testing.assert_allclose(P, expected / sum(p for p, _ in legal), atol=1e-5)


@pytest.mark.parametrize("settings", [{}, {"order": 2, "candidates": 0.2}, {"candidates": 0.2}], ids=str)
def test_the_loss_sums_over_legal_paths(scheme, settings):
    sentences = corpus(scheme, 30, longest=3)
    model = CRFTagger(**settings)
    encoded, layout = model.encode(sentences)
    assert model.scheme_ == scheme
    objective = PenalizedLikelihood if encoded.proposal is None else CandidateLikelihood
    loss = objective(encoded, layout, 0.5, dtype=np.float64)
    weights = np.random.default_rng(0).integers(-8, 9, layout.size) / 8  # numbers that a model file keeps
    model.set_weights(layout.split(weights))
    model.scheme_ = None
    expected, begin = 0.5 * weights @ weights, 0
    for sentence, length in zip(sentences, encoded.lengths.tolist(), strict=True):
        words, gold = sentence.words[:length], sentence.tags[:length]
        assert rewritten(gold, scheme) == list(gold)
        if encoded.proposal is None:
            lattice, candidates = model.scorer()([words]), [range(len(model.classes_))] * length
        else:
            proposal = encoded.proposal.only(np.arange(begin, begin + length))
            lattice = model.proposal_scorer()([words], lambda allowed, proposal=proposal: proposal)
            bounds = np.cumsum(proposal.candidates.widths)[:-1]
            candidates = [own.tolist() for own in np.split(proposal.candidates.tags, bounds)]
        begin += length
        legal = [path for path in product(*candidates) if is_legal(path, model, scheme)]
        scores = [(float(lattice.path_scores(np.array(path))[0]), path) for path in legal]
        right = tuple(model.classes_.index(tag) for tag in gold)
        expected += oracle.log_z(scores) - next(score for score, path in scores if path == right)
    assert loss(weights)[0] == pytest.approx(expected, rel=1e-6)


def is_legal(path, model, scheme):
    tags = [model.classes_[k] for k in path]
    return rewritten(tags, scheme) == tags


def test_ensembles_are_legal(scheme):
    sentences = corpus(scheme, 60)
    members = [HMMTagger().fit(sentences), CRFTagger(max_iterations=8).fit(sentences)]
    text = [sentence.words for sentence in corpus(scheme, 80, seed=1)] + [["x1"]]
    both = Ensemble(members, ["hmm", "crf"])
    assert both.scheme_ == scheme
    assert all(rewritten(tags, scheme) == tags for tags in both.predict(text))
    members[1] = CRFTagger(max_iterations=8, scheme="none").fit(sentences)
    mixed = Ensemble(members, ["hmm", "crf"])
    assert mixed.scheme_ is None
    assert list(map(len, mixed.predict(text))) == list(map(len, text))


def test_a_partly_tagged_corpus():
    sentences = [
        Sentence(
            ["Ada", "Lovelace", "wrote", "to", "Charles", "Babbage"], ["B-PER", "I-PER", "O", "O", "B-PER", "I-PER"]
        ),
        Sentence(["Ada", "wrote", "Notes"], ["B-PER", "?", "O|B-PER"]),
        Sentence(["Babbage", "read"], ["?", "O"]),
    ]
    for model in (CRFTagger(partial=True), CRFTagger(partial=True, order=2), HMMTagger(partial=True)):
        assert model.fit(sentences).scheme_ == "bio"
        assert recognize_scheme(model.predict([["Charles", "Lovelace", "read"], ["Lovelace"]])) == "bio"


def test_a_corpus_that_breaks_the_rules():
    broken = [Sentence(["a", "b"], ["B-X", "I-X"]), Sentence(["c", "d"], ["O", "I-X"])]
    for kind in (CRFTagger, HMMTagger):
        assert kind().fit(broken).scheme_ is None  # not recognised
        with pytest.raises(TrainingError, match="sentence 2, token 2: expected what may follow 'O' in the scheme bio"):
            kind(scheme="bio").fit(broken)
    with pytest.raises(TrainingError, match="line 7, token 1: expected what may follow the start of a sentence"):
        HMMTagger(scheme="bio").fit([broken[0], Sentence(["c"], ["I-X"], line=7)])
    with pytest.raises(
        TrainingError, match=r"sentence 2, token 1: expected what .* 'B-X' .* bioes, got the end of the"
    ):
        HMMTagger(scheme="bioes").fit([Sentence(["a"], ["S-X"]), Sentence(["a"], ["B-X"])])
    with pytest.raises(TrainingError, match=r"scheme bio: sentence 1, token 2: expected O, B-…, I-…, got 'NN'. Use"):
        HMMTagger(scheme="bio").fit([Sentence(["a", "b"], ["B-X", "NN"])])
    with pytest.raises(TrainingError, match="scheme bmes: expected tags of spans, and one for a single word"):
        HMMTagger(scheme="bmes").fit([Sentence(["a", "b"], ["B", "E"])])
    with pytest.raises(TrainingError, match="scheme: expected auto, bio, iob1, bioes, bmes, none, got 'iob'"):
        HMMTagger(scheme="iob").fit(broken)


def test_the_scheme_of_an_initial_model():
    first = CRFTagger(max_iterations=5).fit(corpus("bio", 30))
    adapted = CRFTagger(max_iterations=5).fit([Sentence(["Oslo"], ["B-CITY"])], init=first)
    assert adapted.scheme_ == "bio" and "B-CITY" in adapted.classes_ and "I-PER" in adapted.classes_
    with pytest.raises(TrainingError, match="sentence 1, token 1: expected what may follow the start of a sentence"):
        CRFTagger().fit([Sentence(["Oslo"], ["I-PER"])], init=first)
    with pytest.raises(TrainingError, match="scheme: expected bio with init, whose scheme is used, got none"):
        CRFTagger(scheme="none").fit(corpus("bio", 30), init=first)


def test_a_model_file_with_a_scheme_that_is_not_one(tmp_path):
    model = HMMTagger().fit(corpus("bio", 30))
    for scheme in ("bmes", "no such", ["bio"], 3):  # whose letters are others, or that is none
        model.scheme_ = scheme
        save_model(model, tmp_path / "model.npz")
        with pytest.raises(ModelError, match="expected tags of the scheme"):
            load_model(tmp_path / "model.npz")


def test_tag_sets_without_a_scheme_are_stored_as_before(tmp_path):
    from tagger.arrays.npz import open_archive

    save_model(HMMTagger().fit([Sentence(["a", "b"], ["NN", "VB"])]), tmp_path / "model.npz")
    with open_archive(str(tmp_path / "model.npz")) as archive:
        meta = archive.read_description()
    assert "scheme" not in meta and "scheme" not in meta["settings"]


def test_a_final_mark_inside_of_a_span_stays_in_training():
    """Some training sentences lose their final mark, but not the end of a span with it."""
    sentences = [Sentence(["Ajax", "Inc", "."], ["B-ORG", "I-ORG", "E-ORG"])] * 20 + [
        Sentence(["he", "ran", "."], ["S-PER", "O", "O"])
    ] * 20
    model = CRFTagger(max_iterations=20).fit(sentences)
    assert model.scheme_ == "bioes" and np.isfinite(model.summary_["loss"])
    encoded, _ = model.encode(sentences)
    lengths = encoded.lengths.tolist()
    assert set(lengths[:20]) == {3} and set(lengths[20:]) == {2, 3}
