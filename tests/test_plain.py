"""Plain lines come out as they do sentence by sentence."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from tagger import HMMTagger, Sentence
from tagger.corpus.formats import render
from tagger.corpus.formats.slash import line_stretches, tokens
from tagger.tagging.annotator import Annotator
from tagger.tagging.fast_path import line_tagger, writable

MODEL = HMMTagger().fit([Sentence(["the", "dog", "barks"], ["D", "N", "V"]), Sentence(["dogs", "/"], ["N", "D"])])
lines = st.lists(
    st.text(" \ta/\u3000", max_size=6) | st.sampled_from(["the dog", "", " barks the ", "/ //"]), max_size=9
)


@given(lines, st.sampled_from([None, ["x", "y", "x"]]))
def test_lines_equal_sentences(text, names):
    sentences = Annotator(MODEL, names=names).start()([Sentence(tokens(line)) for line in text])
    found, count = line_tagger(MODEL, names or MODEL.classes_)(text)
    assert found.encode() == b"".join(render(sentence, "slash") for sentence in sentences)
    assert count == sum(map(len, sentences)) and found.count("\n") == len(text)


@pytest.mark.parametrize("tag", ["", "a/b", "a b", "a\tb", "a\nb", "a\r"])
def test_a_tag_that_cannot_stand_behind_a_slash_is_seen(tag):
    assert writable(["NN", "|", "、"]) and not writable(["NN", tag])


@given(st.text(" \tab", max_size=30), st.integers(1, 9))
def test_a_line_in_stretches_comes_out_as_one(line, most):
    consecutive = list(line_stretches(line, most))
    assert [token for stretch in consecutive for token in tokens(stretch)] == tokens(line)
    text, count = line_tagger(MODEL, ["x"] * 3)(consecutive)
    assert (text, count) == (" ".join(f"{token}/x" for token in tokens(line)) + "\n", len(tokens(line)))
