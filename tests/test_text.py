"""From text to tags in a program: `tokenize`, `tag`, `tag_sents`, `pipe`, and models from several files."""

import copy
import multiprocessing
import os
import re

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from test_models import MODELS, TAGS, WORDS

from tagger import HMMTagger, Sentence, TaggerError, load_model, save_model, tokenize
from tagger.models.ensemble import Ensemble
from tagger.tagging import blocks

TEXTS = [" ".join(words) for words in WORDS]
SPANS = [["Ada", "Lovelace", "wrote", "it"]] * 3, [["B-PER", "I-PER", "O", "O"]] * 3


@pytest.fixture(scope="module")
def model():
    return HMMTagger().fit(WORDS, TAGS)


# tokenize


def test_a_language_splits_sentences_and_words():
    text = "She didn't go.  Why?\n\n"
    sentences = tokenize(text, "english")
    assert [s.words for s in sentences] == [("She", "did", "n't", "go", "."), ("Why", "?")]
    assert [[text[a:b] for a, b in s.offsets] for s in sentences] == [list(s.words) for s in sentences]
    assert tokenize("", "english") == tokenize(" \n", "english") == []


@given(st.text(" \t\n\rab\u00a0\u3000\u2028\x0b", max_size=30))
def test_without_a_language_lines_are_sentences_and_spaces_separate_words(text):
    """By another route: cut at line ends, drop one carriage return, cut at spaces and tabs."""
    lines = [line[:-1] if line.endswith("\r") else line for line in text.split("\n")]
    expected = [words for line in lines if (words := tuple(filter(None, re.split("[ \t]", line))))]
    sentences = tokenize(text, None)
    assert [s.words for s in sentences] == expected
    assert [tuple(text[a:b] for a, b in s.offsets) for s in sentences] == expected


# tag


def test_a_text_is_split_by_the_tokenizer_of_the_model(model):
    text = "the dog barks. A cat!"
    assert [s.words for s in model.tag(text)] == [("the", "dog", "barks.", "A", "cat!")]
    other = copy.deepcopy(model)
    other.tokenizer_ = "english"
    sentences = other.tag(text)
    assert [s.words for s in sentences] == [("the", "dog", "barks", "."), ("A", "cat", "!")]
    assert [list(s.tags) for s in sentences] == model.predict([s.words for s in sentences])
    assert [[text[a:b] for a, b in s.offsets] for s in sentences] == [list(s.words) for s in sentences]


@pytest.mark.parametrize("kind", MODELS)
def test_every_model_tags_text(kind):
    model = MODELS[kind]().fit(WORDS, TAGS)
    found = model.tag("\n".join(TEXTS), probabilities=True, nbest=2)
    assert [list(s.tags) for s in found] == TAGS
    expected = [P.max(axis=1) for P in model.predict_marginals(WORDS)]
    for sentence, P, nbest in zip(found, expected, model.predict_nbest(WORDS, 2), strict=True):
        np.testing.assert_allclose(sentence.probabilities, P, atol=1e-6)
        assert [(round(p, 6), tags) for p, tags in sentence.nbest] == [(round(p, 6), tags) for p, tags in nbest]
    assert model.tag("") == []


def test_without_being_asked_there_are_tags_only(model):
    (sentence,) = model.tag(TEXTS[0])
    assert sentence.probabilities is None and sentence.nbest is None
    assert sentence.spans == []


def test_spans_come_with_the_tags():
    model = HMMTagger(scheme="bio").fit(*SPANS)
    (sentence,) = model.tag("Ada Lovelace wrote it")
    assert sentence.spans == [("PER", 0, 2)]
    assert Sentence(["a"]).spans == []


# tag_sents


def test_sentences_keep_what_they_bring(model):
    given = [Sentence(WORDS[0], offsets=[(0, 1)] * 4, columns={"lemma": WORDS[0]}), WORDS[1], (), iter(WORDS[2])]
    found = model.tag_sents(iter(given))
    assert [list(s.tags) for s in found] == [*TAGS[:2], [], TAGS[2]]
    assert found[0].offsets == ((0, 1),) * 4 and found[0].columns == {"lemma": tuple(WORDS[0])}
    assert [s.words for s in found] == [tuple(WORDS[0]), tuple(WORDS[1]), (), tuple(WORDS[2])]


# pipe


@pytest.mark.parametrize("jobs", [1, 2])
@pytest.mark.parametrize("batch_size", [1, 4, 1000])
def test_a_stream_is_tagged_in_order(model, jobs, batch_size):
    texts = [f"{text}\n{TEXTS[0]}" * (i % 3) for i, text in enumerate(TEXTS * 3)]
    expected = [model.tag(text) for text in texts]
    assert list(model.pipe(iter(texts), batch_size=batch_size, jobs=jobs)) == expected
    contexts = [object() for _ in texts]  # cannot be sent to another process and come back the same
    found = list(model.pipe(zip(texts, contexts, strict=True), as_tuples=True, batch_size=batch_size, jobs=jobs))
    assert found == list(zip(expected, contexts, strict=True))


def test_lists_of_words_become_one_sentence_each(model):
    found = list(model.pipe([TEXTS[0], WORDS[1], Sentence(WORDS[2], line=7)], probabilities=True, nbest=1))
    assert [found[0], [found[1]], [found[2]]] == [model.tag_sents([words]) for words in WORDS[:3]]
    assert found[2].line == 7 and found[0][0].offsets and len(found[1].nbest) == 1 and found[1].probabilities


@pytest.mark.parametrize("jobs", [1, 2])
def test_no_more_is_read_than_a_batch_and_the_blocks_of_the_workers(model, jobs):
    read = []

    def texts():
        for i in range(100):
            read.append(i)
            yield TEXTS[0]

    stream = model.pipe(texts(), batch_size=2, jobs=jobs)
    assert read == []
    for count in range(1, 21):
        next(stream)
        assert len(read) <= count + 2 * (jobs + 2)
    stream.close()


def test_long_texts_make_small_batches(model, monkeypatch):
    monkeypatch.setattr(blocks, "BLOCK_TOKENS", 10)
    read = []
    stream = model.pipe(read.append(text) or text for text in TEXTS * 5)
    next(stream)
    assert len(read) == 3


def test_an_error_comes_after_the_results_before_it(model):
    stream = model.pipe([TEXTS[0], TEXTS[1], None, TEXTS[2]])
    assert [list(next(stream)[0].tags), list(next(stream)[0].tags)] == TAGS[:2]
    with pytest.raises(TypeError, match=r"texts\[2\]"):
        next(stream)


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
def test_workers_start_as_the_program_has_chosen(model, method, monkeypatch):
    monkeypatch.setattr(multiprocessing, "get_start_method", lambda allow_none=False: method)
    texts = TEXTS * 2
    assert list(model.pipe(texts, batch_size=3, jobs=2)) == [model.tag(text) for text in texts]


# load_model


def test_several_files_are_an_ensemble(tmp_path, model):
    paths = [tmp_path / "a.npz", str(tmp_path / "b.npz")]
    save_model(model, paths[0])
    save_model(MODELS["crf"]().fit(WORDS, TAGS), paths[1])
    expected = Ensemble([load_model(path) for path in paths], ["a", "b"]).predict_marginals(WORDS[:1])[0]
    for both in (load_model(*paths), load_model(paths), load_model(iter(paths))):
        assert isinstance(both, Ensemble) and both.names == list(map(os.fspath, paths))
        np.testing.assert_array_equal(both.predict_marginals(WORDS[:1])[0], expected)
        assert [list(s.tags) for s in both.tag("\n".join(TEXTS))] == TAGS
    assert isinstance(load_model([paths[0]]), HMMTagger)
    with pytest.raises(TaggerError):
        load_model(())
