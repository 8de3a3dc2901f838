"""N best, probabilities and constraints, for all models, against all taggings one by one."""

from itertools import product
from math import exp

import numpy as np
import pytest

from tagger import CRFTagger, HMMTagger, Sentence
from tagger.errors import CorpusError
from tagger.tagging.annotator import Annotator
from tagger.tagging.constraints import Constraints, read_lexicon

CORPUS = [
    Sentence(words.split(), tags.split())
    for words, tags in [
        ("the dog barks", "D N V"),
        ("the bark is old", "D N V A"),
        ("old dogs bark", "A N V"),
        ("dogs old", "N A"),
        ("is the dog old", "V D N A"),
    ]
]
TEXT = [Sentence(words.split()) for words in ("the old bark barks", "dogs", "", "new cats the", "old old")]
MODELS = {"crf": CRFTagger(max_iterations=8), "hmm": HMMTagger()}
CONSTRAINTS = {
    "none": (None, None),
    "kept": (["D ? N|A V", "?", "", "? N ?", "N|V A|D"], None),
    "lexicon": (None, {"old": ("A", "N"), "dogs": ("V",), "nowhere": ("D",)}),
    "both": (["? ? N|A V", "V", "", "? N ?", "N|V A|D"], {"old": ("A", "N", "V"), "cats": ("N", "A")}),
}


@pytest.fixture(scope="module", params=MODELS)
def model(request):
    return MODELS[request.param].fit(CORPUS)


def constrained(model, name):
    """The text with the tags that come with it, the constraints, and by hand the tags that each token may have."""
    tags, lexicon = CONSTRAINTS[name]
    text = [s.with_tags(t.split()) for s, t in zip(TEXT, tags, strict=True)] if tags else TEXT
    by_hand = []
    for sentence in text:
        row = []
        for i, word in enumerate(sentence.words):
            may = set(model.classes_)
            if tags and sentence.tags[i] != "?":
                may &= set(sentence.tags[i].split("|"))
            row.append(may & set((lexicon or {}).get(word, model.classes_)))
        by_hand.append(row)
    return text, Constraints(model.classes_, lexicon, keep_tags=tags is not None), by_hand


def every_tagging(model, words, may):
    """All taggings that are allowed with their probabilities, each found by leaving it alone in the lattice."""
    if not words:
        return {(): 1.0}
    (_, lattice), *_ = model.lattices([words])
    scores = {}
    for path in product(*(sorted(tags) for tags in may)):
        alone = np.array([[name == tag for name in model.classes_] for tag in path])
        narrowed = lattice.restrict(alone)
        scores[path] = float(narrowed.path_scores(narrowed.best())[0])
    highest = max(scores.values())
    total = sum(exp(score - highest) for score in scores.values())
    return {path: exp(score - highest) / total for path, score in scores.items()}


@pytest.mark.parametrize("name", CONSTRAINTS)
def test_everything_equals_enumeration(model, name):
    text, constraints, by_hand = constrained(model, name)
    n = 7
    found = Annotator(model, constraints, probabilities=True, nbest=n).start()(text)
    for sentence, may in zip(found, by_hand, strict=True):
        every = every_tagging(model, sentence.words, may)
        best = sorted(every.values(), reverse=True)[:n]
        np.testing.assert_allclose([p for p, _ in sentence.nbest], best, rtol=1e-4)
        for p, tags in sentence.nbest:
            assert p == pytest.approx(every[tuple(tags)], rel=1e-4)
        assert len({tuple(tags) for _, tags in sentence.nbest}) == len(sentence.nbest) == min(n, len(every))
        assert every[tuple(sentence.tags)] == pytest.approx(best[0], rel=1e-4)
        for t, tag in enumerate(sentence.tags):
            marginal = sum(p for path, p in every.items() if path[t] == tag)
            assert sentence.probabilities[t] == pytest.approx(marginal, abs=1e-5)


def test_doubtful_tags_become_question_marks(model):
    sure = Annotator(model, probabilities=True).start()(TEXT)
    found = Annotator(model, min_probability=0.8).start()(TEXT)
    for sentence, told in zip(found, sure, strict=True):
        expected = ["?" if p < 0.8 else tag for p, tag in zip(told.probabilities, told.tags, strict=True)]
        assert list(sentence.tags) == expected and not sentence.probabilities
    assert any("?" in sentence.tags for sentence in found)


def test_tags_that_get_one_name_share_their_probability(model):
    names = ["X" if tag in "NV" else tag for tag in model.classes_]
    own = Annotator(model, probabilities=True, names=names).start()(TEXT)
    for sentence, P in zip(own, model.predict_marginals(TEXT), strict=True):
        for t, tag in enumerate(sentence.tags):
            columns = [k for k, name in enumerate(names) if name == tag]
            assert sentence.probabilities[t] == pytest.approx(P[t, columns].sum(), abs=1e-5)


def test_a_tag_of_the_model_is_itself_before_it_is_a_choice():
    model = CRFTagger(max_iterations=5).fit([Sentence(["a", "b", "c"], ["X", "X|Y", "Y"])])
    constraints = Constraints(model.classes_, keep_tags=True)
    assert constraints.input_tags("X|Y") == {model.classes_.index("X|Y")}
    assert constraints.input_tags("?") is None
    question = CRFTagger(max_iterations=5).fit([Sentence(["a", "b"], ["?", "Y"])])
    assert Constraints(question.classes_, keep_tags=True).input_tags("?") == {0}


def test_faults_name_the_token(model):
    constraints = Constraints(model.classes_, {"dog": ("N",)}, keep_tags=True)
    assert constraints.fault(Sentence(["the", "dog"], ["D", "?"])) is None
    strange = constraints.fault(Sentence(["and", "x"], ["or", "?"]))
    assert all(part in strange for part in ("token 1", "'and/or'", "'or'", "and/or/?", "A, D, N, V"))
    assert "'and/N|or'" in constraints.fault(Sentence(["and"], ["N|or"]))
    not_listed = constraints.fault(Sentence(["the", "dog"], ["D", "V"]))
    assert all(part in not_listed for part in ("token 2", "'dog'", "'V'", "lexicon"))


def test_a_lexicon_knows_words_of_any_length(model):
    long = "a" * 5000 + "b" * 5000
    assert Constraints(model.classes_, {long: ("N",)}).allowed_tags(long, "") == {model.classes_.index("N")}


@pytest.mark.parametrize(
    "text, place, found",
    [("dog\tN\ncat N\n", ":2:", "'cat N'"), ("dog\t \n", ":1:", "'dog"), ("a\tN Q\n", ":1:", "'Q'")],
)
def test_a_bad_lexicon_is_refused_with_its_place(tmp_path, text, place, found):
    path = tmp_path / "lexicon.tsv"
    path.write_text(text)
    with pytest.raises(CorpusError) as error:
        read_lexicon(path, known={"N", "V"})
    assert place in str(error.value) and found in str(error.value)


def test_lines_of_a_lexicon_add_up(tmp_path):
    path = tmp_path / "lexicon.tsv"
    path.write_text("New York\tN\n\nrun\tN V\nrun\tV A\n")
    assert read_lexicon(path) == {"New York": ("N",), "run": ("N", "V", "A")}
