"""The ruler on an example worked by hand."""

import json

import pytest

from tagger import Sentence, evaluate
from tagger.lexicon import Lexicon
from tagger.metrics import accuracy
from tagger.report import as_json, as_table

GOLD = [Sentence(["the", "dog", "barks"], ["D", "N", "V"]), Sentence(["zap", "it"], ["V", "P"]), Sentence([], [])]
GUESS = [["D", "N", "N"], ["V", "P"], []]


def lexicon():
    import numpy as np

    return Lexicon.of(["the", "dog", "barks"], np.array([0, 1, 2]), np.array([0, 1, 2]), 3)


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


def test_what_cannot_be_divided_is_none():
    found = evaluate([], [], lexicon())
    assert found.accuracy is found.known_accuracy is found.sentence_accuracy is None
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
    keys = [
        "tokens",
        "sentences",
        "accuracy",
        "known_accuracy",
        "unknown_accuracy",
        "sentence_accuracy",
        "tags",
        "confusions",
    ]
    assert list(found) == keys
    assert found["tags"]["V"] == {"precision": 1.0, "recall": 0.5, "f1": pytest.approx(2 / 3), "support": 2}
    assert found["confusions"] == [{"gold": "V", "guess": "N", "count": 1}]
    assert found["known_accuracy"] is None


def test_the_table_shows_the_figures():
    text = as_table(evaluate(GOLD, GUESS, lexicon()))
    assert "accuracy               80.00 %" in text
    assert "known words          66.67 %" in text
    assert "100.00 %   50.00 %   66.67 %        2" in text
