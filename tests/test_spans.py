"""Spans of tag sequences and their metrics, compared with seqeval and with the documented rules of conlleval."""

import random
from collections import Counter

import pytest

from tagger import Sentence, evaluate_spans, find_spans, recognize_scheme
from tagger.corpus.span_schemes import SCHEMES, Span, allowed_steps, first_violation, may_follow
from tagger.errors import TrainingError
from tagger.evaluation.span_errors import SpanError, find_span_errors
from tagger.evaluation.spans import check_metric, compare_spans, score_by

LETTERS = {"bio": "BIO", "iob1": "BIO", "bioes": "BIOES", "bmes": "BMOES"}
SEQEVAL = {"bio": "IOB2", "iob1": "IOB1", "bioes": "IOBES", "bmes": "IOBES"}


def any_sequence(rng, scheme, types):
    return [
        letter if letter == "O" or not types else f"{letter}-{rng.choice(types)}"
        for letter in rng.choices(LETTERS[scheme], k=rng.randint(0, 12))
    ]


def legal_sequence(rng, scheme, types):
    """Write random spans in the scheme, without a rule about steps."""
    tags, last = [], None
    for _ in range(rng.randint(0, 4)):
        if rng.random() < 0.4:
            tags += ["O"] * rng.randint(1, 2)
            last = None
        name, size = rng.choice(types or [None]), rng.randint(1, 4)
        letters = {
            "bio": "B" + "I" * (size - 1),
            "iob1": ("B" if last == (name,) else "I") + "I" * (size - 1),
            "bioes": "S" if size == 1 else "B" + "I" * (size - 2) + "E",
            "bmes": "S" if size == 1 else "B" + "M" * (size - 2) + "E",
        }[scheme]
        tags += [letter if name is None else f"{letter}-{name}" for letter in letters]
        last = (name,)
    return tags


def sequences(scheme, count=1000, types=("PER", "LOC", "X-Y")):
    rng = random.Random(scheme)
    legal = [legal_sequence(rng, scheme, types) for _ in range(count)]
    return legal, [any_sequence(rng, scheme, types) for _ in range(count)]


def as_seqeval(tags):
    """seqeval does not have the letter M."""
    return ["I" + tag[1:] if tag[0] == "M" else tag for tag in tags]


def conlleval_spans(tags):
    """The documented rules of conlleval: what begins a chunk, and what ends the one before, by the two tags."""

    def taken_apart(tag):
        return tag.split("-", 1) if "-" in tag else [tag, ""]

    spans, begin = set(), None
    before, before_type = "O", ""
    for place, tag in enumerate([*tags, "O"]):
        letter, name = taken_apart(tag)
        changes = before != "O" and before_type != name
        ends = changes or (before, letter) in {("B", "B"), ("B", "O"), ("I", "B"), ("I", "O")}
        begins = (letter != "O" and before_type != name) or (before, letter) in {
            ("B", "B"), ("I", "B"), ("O", "B"), ("O", "I"),
        }  # fmt: skip
        if ends and begin is not None:
            spans.add((before_type or "_", begin, place))
            begin = None
        if begins:
            begin = place
        before, before_type = letter, name
    return spans


@pytest.mark.parametrize("types", [("PER", "LOC", "X-Y"), ()], ids=["typed", "untyped"])
@pytest.mark.parametrize("scheme", ["bio", "iob1"])
def test_spans_are_those_of_conlleval(scheme, types):
    for group in sequences(scheme, types=types):
        for tags in group:
            assert set(find_spans(tags)) == conlleval_spans(tags), tags


@pytest.mark.integration
@pytest.mark.parametrize("scheme", SCHEMES)
def test_spans_are_those_of_seqeval(scheme):
    pytest.importorskip("seqeval")
    import seqeval.scheme
    from seqeval.metrics.sequence_labeling import get_entities
    from seqeval.scheme import Entities

    for group in sequences(scheme):
        for tags in group:
            theirs = {(name, begin, last + 1) for name, begin, last in get_entities(as_seqeval(tags))}
            assert set(find_spans(tags)) == theirs, tags
        strict = Entities([as_seqeval(tags) for tags in group], getattr(seqeval.scheme, SEQEVAL[scheme])).entities
        for tags, entities in zip(group, strict, strict=True):
            assert set(find_spans(tags, scheme)) == {(one.tag, one.start, one.end) for one in entities}, tags


@pytest.mark.integration
@pytest.mark.parametrize("strict", [False, True])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_figures_are_those_of_seqeval(scheme, strict):
    pytest.importorskip("seqeval")
    import seqeval.scheme
    from seqeval.metrics import classification_report

    rng = random.Random(7)
    for gold in sequences(scheme, 300):
        tags = sorted({tag for sentence in gold for tag in sentence})
        guesses = [[tag if rng.random() < 0.7 else rng.choice(tags) for tag in sentence] for sentence in gold]
        options = {"mode": "strict", "scheme": getattr(seqeval.scheme, SEQEVAL[scheme])} if strict else {}
        theirs = classification_report(
            list(map(as_seqeval, gold)), list(map(as_seqeval, guesses)), output_dict=True, zero_division=0, **options
        )
        ours = evaluate_spans([Sentence(["w"] * len(tags), tags) for tags in gold], guesses, scheme if strict else None)
        rows = {row.tag: row for row in ours.types} | {"micro avg": ours, "macro avg": ours.macro}
        for name, row in theirs.items():
            if name != "weighted avg":
                for figure, value in (
                    ("precision", row["precision"]),
                    ("recall", row["recall"]),
                    ("f1", row["f1-score"]),
                ):
                    assert (getattr(rows[name], figure) or 0.0) == pytest.approx(value, abs=1e-12), (name, figure)
        assert {row.tag: row.support for row in ours.types} == {
            name: row["support"] for name, row in theirs.items() if not name.endswith(" avg")
        }
        assert score_by("span-f1", [Sentence(["w"] * len(tags), tags) for tags in gold], guesses) == pytest.approx(
            evaluate_spans([Sentence(["w"] * len(tags), tags) for tags in gold], guesses).f1
        )


@pytest.mark.parametrize("types", [("PER", "LOC"), ()], ids=["typed", "untyped"])
@pytest.mark.parametrize("scheme", SCHEMES)
def test_legal_sequences_and_only_those_obey_the_rules(scheme, types):
    """A sequence is legal if writing its strict spans in the scheme gives it back."""
    legal, others = sequences(scheme, types=types)
    tags = {tag for sentence in legal + others for tag in sentence}
    assert first_violation(scheme, legal, tags) is None
    found = Counter()
    for sentence in others:
        obeys = first_violation(scheme, [sentence], tags) is None
        assert obeys == (rewritten(sentence, scheme) == sentence), sentence
        found[obeys] += 1
    assert min(found.values()) > 50
    assert recognize_scheme(legal) in (scheme, "bioes" if scheme == "bmes" else scheme)


def rewritten(tags, scheme):
    out = ["O"] * len(tags)
    last = None
    for span in sorted(find_spans(tags, scheme), key=lambda span: span.begin):
        size, name = span.end - span.begin, "" if span.type == "_" else f"-{span.type}"
        adjoining = last is not None and last.end == span.begin and last.type == span.type
        letters = {
            "bio": "B" + "I" * (size - 1),
            "iob1": ("B" if adjoining else "I") + "I" * (size - 1),
            "bioes": "S" if size == 1 else "B" + "I" * (size - 2) + "E",
            "bmes": "S" if size == 1 else "B" + "M" * (size - 2) + "E",
        }[scheme]
        out[span.begin : span.end] = [letter + name for letter in letters]
        last = span
    return out


@pytest.mark.parametrize(
    ("sentences", "scheme"),
    [
        ([["DT", "NN"], ["B", "NN"]], None),
        ([["B-PER", "I-PER", "O"]], "bio"),
        ([["O", "B-PER"]], "bio"),
        ([["O", "I-PER"], ["I-PER", "B-PER"]], "iob1"),
        ([["O", "I-PER"], ["O", "B-PER"]], None),  # neither
        ([["B-PER", "E-PER", "S-LOC"]], "bioes"),
        ([["B-PER", "I-PER", "S-LOC"]], None),  # a span without an end
        ([["B", "M", "E", "S"]], "bmes"),
        ([["B", "M", "E"]], None),  # no tag for a sentence of one character
        ([["O", "O"]], None),
        ([["I", "O"]], None),  # may be tags of anything
        ([["O-PER", "B-PER"]], None),
        ([["B-", "B-PER"]], None),
        ([], None),
    ],
)
def test_recognition(sentences, scheme):
    assert recognize_scheme(sentences) == scheme


def test_open_tags_of_a_partly_tagged_corpus_may_be_anything():
    sentences = [["B-PER", "?", "I-PER", "O"], ["B-PER|O", "I-PER"]]
    assert recognize_scheme(sentences, {"B-PER", "I-PER", "O"}) == "bio"
    assert recognize_scheme(sentences) is None


def test_steps():
    steps = allowed_steps("bio", ["B-X", "I-X", "I-Y", "O"])
    assert steps.tolist() == [
        [True, True, False, True, True],
        [True, True, False, True, True],
        [True, False, True, True, True],
        [True, False, False, True, True],
        [True, False, False, True, True],
    ]
    assert allowed_steps(None, ["A", "B"]) is None
    assert not may_follow("bioes", "B-X", "O") and not may_follow("iob1", "O", "B-X")


def test_untyped_spans_of_segmentation():
    assert find_spans(["B", "M", "E", "S", "B", "E"]) == [Span("_", 0, 3), Span("_", 3, 4), Span("_", 4, 6)]


def test_comparison_of_two_taggers():
    gold = [Sentence(["a", "b"], ["B-X", "O"])] * 40
    right, wrong = [["B-X", "O"]] * 40, [["O", "O"]] * 40
    better = compare_spans(gold, right, wrong)
    assert (better.f1, better.difference, better.interval) == (0.0, 1.0, (1.0, 1.0))
    assert better.p_value < 0.001
    worse = compare_spans(gold, wrong, right)
    assert worse.difference == -1.0 and worse.p_value == better.p_value
    same = compare_spans(gold, right, right)
    assert same.difference == 0.0 and same.p_value == 1.0
    one = compare_spans(gold[:20], right[:20], [["O", "O"], *right[1:20]])
    assert one.p_value > 0.9  # one sentence: every swap is as far


def test_p_value_of_few_sentences_by_all_swaps():
    """Three sentences with different counts: all 8 swaps, one by one."""
    from itertools import product

    import numpy as np

    from tagger.evaluation.significance import paired_p_value

    a = [(4, 4), (4, 5), (2, 3)]
    b = [(2, 5), (2, 4), (2, 4)]

    def f1(rows):
        return sum(row[0] for row in rows) / sum(row[1] for row in rows)

    observed = abs(f1(a) - f1(b))
    swaps = []
    for choice in product([False, True], repeat=3):
        first = [y if swap else x for x, y, swap in zip(a, b, choice, strict=True)]
        second = [x if swap else y for x, y, swap in zip(a, b, choice, strict=True)]
        swaps.append(abs(f1(first) - f1(second)) >= observed - 1e-12)
    expected = sum(swaps) / len(swaps)
    assert 0 < expected < 1
    assert paired_p_value(tuple(np.array(a).T), tuple(np.array(b).T)) == pytest.approx(expected, abs=0.02)


def test_no_spans_at_all():
    scores = evaluate_spans([Sentence(["a"], ["O"])], [["O"]])
    assert (scores.f1, scores.precision, scores.recall, scores.f1_interval, scores.types) == (None,) * 4 + ([],)
    assert evaluate_spans([], []).f1 is None


def test_misaligned_tags_are_refused():
    with pytest.raises(ValueError, match="guesses: expected a tag for each of 2 words, got 1"):
        evaluate_spans([Sentence(["a", "b"], ["O", "O"])], [["O"]])


def test_metrics():
    gold, guesses = [Sentence(["a", "b"], ["B-X", "O"])], [["B-X", "B-X"]]
    assert score_by("accuracy", gold, guesses) == 0.5
    assert score_by("span-f1", gold, guesses) == pytest.approx(2 / 3)
    check_metric("span-f1", "bio")
    with pytest.raises(TrainingError, match="metric: expected accuracy for tags without a span scheme, got span-f1"):
        check_metric("span-f1", None)
    with pytest.raises(TrainingError, match="metric: expected accuracy or span-f1, got f1"):
        check_metric("f1", "bio")


def test_kinds_of_errors():
    gold = [
        Sentence(["a", "b", "c", "d", "e", "f", "g"], ["B-X", "I-X", "O", "B-Y", "O", "O", "B-Z"]),
        Sentence(["a", "b", "c", "d"], ["B-X", "I-X", "I-X", "I-X"]),
        Sentence(["a"], ["O"]),
    ]
    guesses = [["B-X", "I-X", "O", "B-Z", "O", "B-X", "O"], ["B-X", "O", "B-X", "I-X"], ["O"]]
    errors = find_span_errors(gold, guesses)
    assert errors == {
        "missed": [SpanError("missed", 0, Span("Z", 6, 7), None)],
        "invented": [SpanError("invented", 0, None, Span("X", 5, 6))],
        "wrong type": [SpanError("wrong type", 0, Span("Y", 3, 4), Span("Z", 3, 4))],
        "wrong border": [
            SpanError("wrong border", 1, Span("X", 0, 4), Span("X", 0, 1)),
            SpanError("wrong border", 1, Span("X", 0, 4), Span("X", 2, 4)),
        ],
    }


def test_every_wrong_span_is_in_one_error_at_least():
    rng = random.Random(3)
    for scheme in SCHEMES:
        legal, others = sequences(scheme, 200)
        pairs = [(a, (b * 20)[: len(a)]) for a, b in zip(legal, others, strict=True) if a and b]
        rng.shuffle(pairs)
        gold = [Sentence(["w"] * len(a), a) for a, _ in pairs]
        errors = [one for found in find_span_errors(gold, [b for _, b in pairs]).values() for one in found]
        for number, (a, b) in enumerate(pairs):
            right = set(find_spans(a)) & set(find_spans(b))
            own = [one for one in errors if one.sentence == number]
            assert {one.gold for one in own} - {None} == set(find_spans(a)) - right
            assert {one.guess for one in own} - {None} == set(find_spans(b)) - right
