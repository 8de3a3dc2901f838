"""The ruler on an example worked by hand."""

import json
import re

import pytest

from tagger import Sentence, evaluate
from tagger.arrays.string_spans import ByteStrings
from tagger.evaluation.metrics import accuracy
from tagger.reports.text import as_json, as_table
from tagger.words.lexicon import Lexicon

GOLD = [Sentence(["the", "dog", "barks"], ["D", "N", "V"]), Sentence(["zap", "it"], ["V", "P"]), Sentence([], [])]
KEYS = {
    *("tokens", "sentences", "accuracy", "accuracy_interval", "sentence_accuracy", "macro", "tags", "unseen_tags"),
    *("known_accuracy", "unknown_accuracy", "ambiguous_accuracy", "known_tokens", "unknown_tokens"),
    *("ambiguous_tokens", "kappa", "confusions", "not_considered"),
}
GUESS = [["D", "N", "N"], ["V", "P"], []]


def lexicon():
    import numpy as np

    return Lexicon.of(ByteStrings.of(["the", "dog", "barks"]), np.array([0, 1, 2]), np.array([0, 1, 2]), 3)


def test_figures_worked_by_hand():
    found = evaluate(GOLD, GUESS, lexicon())
    assert (found.tokens, found.sentences) == (5, 2)
    assert found.accuracy == 4 / 5
    assert found.known_accuracy == 2 / 3 and found.unknown_accuracy == 1.0
    assert found.sentence_accuracy == 1 / 2
    by_tag = {row.tag: row for row in found.tags}
    assert (by_tag["N"].precision, by_tag["N"].recall, by_tag["N"].support) == (1 / 2, 1.0, 1)
    assert (by_tag["V"].precision, by_tag["V"].recall, by_tag["V"].support) == (1.0, 1 / 2, 2)
    assert by_tag["N"].f1 == pytest.approx(2 / 3) and by_tag["V"].f1 == pytest.approx(2 / 3)
    assert [(c.gold, c.guess, c.count) for c in found.confusions] == [("V", "N", 1)]
    assert [row.tag for row in found.tags] == ["V", "D", "N", "P"]
    assert (found.known_tokens, found.unknown_tokens, found.ambiguous_tokens) == (3, 2, 0)
    assert found.ambiguous_accuracy is None
    assert found.macro.precision == pytest.approx((1 + 1 + 1 / 2 + 1) / 4)
    assert found.macro.recall == pytest.approx((1 / 2 + 1 + 1 + 1) / 4)
    assert found.macro.f1 == pytest.approx((2 / 3 + 1 + 2 / 3 + 1) / 4)
    assert found.unseen_tags == [] and evaluate(GOLD, GUESS, classes=["D", "N"]).unseen_tags == ["P", "V"]


def test_words_with_two_tags_are_ambiguous():
    import numpy as np

    known = Lexicon.of(ByteStrings.of(["run", "dog"]), np.array([0, 0, 1, 1]), np.array([0, 1, 1, 1]), 2)
    gold = [Sentence(["run", "dog", "run", "cat"], ["V", "N", "N", "N"])]
    found = evaluate(gold, [["V", "N", "V", "N"]], known)
    assert (found.ambiguous_tokens, found.ambiguous_accuracy) == (2, 0.5)
    assert (found.known_tokens, found.known_accuracy) == (3, pytest.approx(2 / 3))


@pytest.mark.integration
def test_figures_equal_those_of_scikit_learn():
    import numpy as np

    pytest.importorskip("sklearn")
    from sklearn.metrics import accuracy_score, cohen_kappa_score, precision_recall_fscore_support

    random = np.random.default_rng(0)
    tags = np.array([f"T{k}" for k in range(20)])
    lengths = random.integers(0, 40, 500)
    gold = [tags[random.zipf(1.5, n) % 18] for n in lengths]
    guess = [
        np.where(random.random(n) < 0.8, own, tags[random.integers(2, 20, n)])
        for n, own in zip(lengths, gold, strict=True)
    ]
    found = evaluate([Sentence(["w"] * len(own), own.tolist()) for own in gold], [own.tolist() for own in guess])
    flat_gold, flat_guess = np.concatenate(gold), np.concatenate(guess)
    assert found.accuracy == pytest.approx(accuracy_score(flat_gold, flat_guess), rel=1e-12)
    names = sorted({*flat_gold, *flat_guess})
    rows = precision_recall_fscore_support(flat_gold, flat_guess, labels=names, zero_division=0)
    by_tag = {row.tag: row for row in found.tags}
    assert by_tag.keys() == set(names)
    for name, precision, recall, f1, support in zip(names, *rows, strict=True):
        own = by_tag[name]
        assert (own.precision or 0, own.recall or 0, own.f1 or 0) == pytest.approx((precision, recall, f1), rel=1e-12)
        assert own.support == support
    assert found.kappa == pytest.approx(cohen_kappa_score(flat_gold, flat_guess), rel=1e-12)
    macro = precision_recall_fscore_support(flat_gold, flat_guess, average="macro", zero_division=0)[:3]
    assert (found.macro.precision, found.macro.recall, found.macro.f1) == pytest.approx(macro, rel=1e-12)


def test_what_cannot_be_divided_is_none():
    found = evaluate([], [], lexicon())
    assert found.accuracy is found.known_accuracy is found.sentence_accuracy is None
    assert found.kappa is evaluate([Sentence(["a"], ["X"])], [["X"]]).kappa is None  # one tag: nothing to choose
    one = evaluate([Sentence(["a"], ["X"])], [["Y"]])
    assert one.known_accuracy is None
    scores = {row.tag: row for row in one.tags}
    assert scores["X"].precision is None and scores["X"].recall == 0.0
    assert scores["Y"].recall is None and scores["Y"].precision == 0.0


def test_training_and_evaluation_use_one_ruler():
    assert accuracy(GOLD, GUESS) == evaluate(GOLD, GUESS).accuracy


def test_misaligned_input_is_refused():
    with pytest.raises(ValueError):
        evaluate(GOLD[:1], [["D", "N"]])
    with pytest.raises(ValueError):
        evaluate([Sentence(["a"])], [["X"]])


def test_json_has_the_promised_keys():
    found = json.loads(json.dumps(as_json(evaluate(GOLD, GUESS))))
    assert found.keys() == KEYS
    assert found["tags"]["V"] == {"precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "support": 2}
    assert found["confusions"] == [{"gold": "V", "guess": "N", "count": 1, "example": [0, 2]}]
    assert found["known_accuracy"] is None


def test_the_table_shows_the_figures():
    text = as_table(evaluate(GOLD, GUESS, lexicon()))
    rows = [re.split(r" {2,}", line.strip()) for line in text.splitlines()]
    assert ["accuracy", "80.00 %"] in [row[:2] for row in rows]
    assert "66.67 %" in next(row for row in rows if row[0].startswith("known"))
    assert ["V", "100.00 %", "50.00 %", "66.67 %", "2"] in rows
