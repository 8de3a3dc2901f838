"""Learning from partly tagged text: what is left open is summed over."""

import re

import numpy as np
import oracle
import pytest

from tagger import CRFTagger, Sentence, load_model, save_model
from tagger.cli import run
from tagger.corpus.partial import OPEN, read_choices
from tagger.crf.model_arrays import rounded
from tagger.crf.objective import PenalizedLikelihood
from tagger.errors import TrainingError

PARTIAL = [
    ("the dog barks .", "D N ? ."),
    ("dogs bark", "N N|V"),
    ("the bark of dogs", "? N|V P N"),
    ("a dog", "? ?"),
    ("bark !", "V ."),
    ("the tree barks", "D N V"),
    ("x", "?"),
]


def sentences(text=PARTIAL):
    return [Sentence(words.split(), tags.split()) for words, tags in text]


def build(text=PARTIAL, **settings):
    model = CRFTagger(features="comparison", partial=True)
    corpus, layout = model.encode(sentences(text))
    return model, corpus, layout, PenalizedLikelihood(corpus, layout, 0.3, dtype=np.float64, **settings)


def test_choices_are_read_and_whole_tags_with_a_bar_are_not():
    names, tags, choices = read_choices(sentences([("a b c d", "X Y|X ? Z|X"), ("e", "Y")]))
    assert names == ["X", "Y", "Z|X"]  # nothing is tagged Z, so Z|X is a tag
    assert tags.tolist() == [0, OPEN, OPEN, 2, 1]
    assert choices.tokens.tolist() == [1, 2]
    assert choices.allowed.tolist() == [[True, True, False], [True, True, True]]
    assert [events.tolist() for events in choices.events(tags)] == [[0, 1, 1, 3, 4], [0, 0, 1, 2, 1]]


def test_nothing_tagged_is_refused():
    with pytest.raises(TrainingError):
        read_choices(sentences([("a b", "? ?")]))


def test_the_loss_is_the_probability_of_all_that_is_allowed():
    model, _, layout, loss = build()
    weights = rounded(np.random.default_rng(0).normal(size=layout.size))
    parts = layout.split(weights)
    model.set_weights(parts)
    start, transitions, end = parts.start, parts.transitions, parts.end
    numbers = {name: k for k, name in enumerate(model.classes_)}
    total = 0.3 * (weights @ weights)
    for words, tags in PARTIAL:
        lattice = next(model.lattices([words.split()]))[1]
        E = lattice.chain.emissions.astype(float)
        every = oracle.paths(start.tolist(), transitions.tolist(), end.tolist(), E.tolist())
        sets = [
            set(numbers.values()) if tag == "?" else {numbers[part] for part in tag.split("|")} for tag in tags.split()
        ]
        allowed = [(s, p) for s, p in every if all(k in choice for k, choice in zip(p, sets, strict=True))]
        total += oracle.log_z(every) - oracle.log_z(allowed)
    assert loss(weights)[0] == pytest.approx(total, rel=1e-6)  # the model's weights are float32


@pytest.mark.parametrize("groups", [None, [np.array([0, 2, 3])], [np.array([4, 5])]])
def test_the_gradient_equals_central_differences(groups):
    _, _, layout, loss = build(groups=groups)
    weights = np.random.default_rng(1).normal(size=layout.size)
    _, gradient = loss(weights)
    step = 1e-5
    for i in range(0, layout.size, 3):
        up, down = weights.copy(), weights.copy()
        up[i] += step
        down[i] -= step
        assert gradient[i] == pytest.approx((loss(up)[0] - loss(down)[0]) / (2 * step), abs=1e-7, rel=1e-7)


def test_bigrams_between_choices_have_parameters():
    model, _, layout, _ = build()
    K, numbers = len(model.classes_), {name: k for k, name in enumerate(model.classes_)}
    seen = {(model.classes_[cell // K], model.classes_[cell % K]) for cell in layout.seen.tolist()}
    assert {("N", "N"), ("N", "V"), ("V", "P"), ("D", "N"), ("P", "N")} <= seen
    assert ("D", "D") not in seen and len(numbers) == 5


def test_a_fully_tagged_corpus_gives_the_same_bytes(tmp_path):
    full = sentences([("the dog barks .", "D N V ."), ("dogs bark", "N V"), ("x", "N|Q")])
    for partial in (False, True):
        save_model(CRFTagger(partial=partial, max_iterations=20).fit(full), tmp_path / f"{partial}.npz")
    assert (tmp_path / "True.npz").read_bytes() == (tmp_path / "False.npz").read_bytes()


def test_open_tags_are_learned_from_what_surrounds_them():
    """Nobody says what *zig* is; between D and V it must be what *dog* is there."""
    text = [("the dog runs", "D N V"), ("the cat sits", "D N V")] * 5 + [("the zig runs", "D ? V")] * 5
    model = CRFTagger(partial=True, l2=0.05).fit(sentences(text))
    assert model.predict([["the", "zig", "sits"]]) == [["D", "N", "V"]]
    assert model.lexicon_.known(["dog", "zig"]).tolist() == [True, False]
    assert set(model.classes_) == {"D", "N", "V"}


def test_choices_narrow_what_is_learned():
    text = [("a b", "X Y"), ("c d", "Z W")] * 3 + [("q", "X|Y"), ("q", "Y|Z")] * 6
    model = CRFTagger(partial=True, l2=0.01).fit(sentences(text))
    assert model.predict([["q"]]) == [["Y"]]  # the one tag that every choice allows


def conllu(*sentences):
    rows = [[f"{i}\t{word}\t_\t{tag}" + "\t_" * 6 for i, (word, tag) in enumerate(pairs, 1)] for pairs in sentences]
    return "".join("\n".join(own) + "\n\n" for own in rows)


FULL = [("the", "D"), ("dog", "N"), ("runs", "V")]
FORMS = {  # of two sentences of which the last word of the second has no tag
    "open.conllu": conllu(FULL, [("the", "D"), ("cat", "_")]),
    "open.txt": "the/D dog/N runs/V\n\nthe/D cat\n",
    "open.tsv": "the\tD\ndog\tN\nruns\tV\n\nthe\tD\ncat\n",
    "open.jsonl": """{"words": ["the", "dog", "runs"], "tags": ["D", "N", "V"]}

{"words": ["the", "cat"], "tags": ["D", null]}
""",
}


@pytest.mark.parametrize("kind", ["hmm", "crf"])
@pytest.mark.parametrize("name", FORMS)
def test_a_word_without_a_tag_is_open_in_every_format(tmp_path, monkeypatch, capfd, kind, name):
    monkeypatch.chdir(tmp_path)
    (tmp_path / name).write_text(FORMS[name])
    assert run([f"train-{kind}", name, "--partial", "-q"]) == 0, capfd.readouterr().err
    model = load_model("model.npz")
    assert model.classes_ == ["D", "N", "V"] and model.lexicon_.known(["the", "cat"]).tolist() == [True, False]
    assert run([f"train-{kind}", name, "-q"]) == 1
    assert name in capfd.readouterr().err


def test_training_on_words_without_a_tag_names_the_option_for_them(tmp_path, monkeypatch, capfd):
    monkeypatch.chdir(tmp_path)
    (tmp_path / "open.conllu").write_text(FORMS["open.conllu"])
    for command, advice in (("train-hmm", True), ("check", False)):
        assert run([command, "open.conllu"]) == 1
        err = capfd.readouterr().err
        assert err.startswith("tagger: open.conllu:6: ") and re.search(r"upos.*--column\b.*\bxpos", err)
        assert ("--partial" in err) == advice
