"""The corpora in data/ keep what their README promises."""

import re
from collections import defaultdict
from pathlib import Path

import pytest

from tagger import read_corpus

DATA = Path(__file__).parent.parent / "data"
PENN = (
    "CC CD DT EX FW IN JJ JJR JJS LS MD NN NNS NNP NNPS PDT POS PRP PRP$ RB RBR RBS RP SYM TO UH VB VBD VBG VBN VBP "
    "VBZ WDT WP WP$ WRB . , : `` '' -LRB- -RRB- $ #"
)
PEKING = "a ad an b c d e f h i j k l m n nr ns nt nx nz o p q r s t u v vd vn w x y z Ag Dg Ng Tg Vg"
SIZES = [("english", PENN, 6000, 1800), ("chinese", PEKING, 3000, 800)]
AMBIGUOUS = [("english", "that book like her 's back left"), ("chinese", "在 了 工作 和 对")]


def corpus(language):
    return [read_corpus(DATA / f"{language}-{part}.txt") for part in ("train", "test")]


@pytest.mark.parametrize("language, tags, tokens, words", SIZES)
def test_size_and_tag_set(language, tags, tokens, words):
    sentences = [sentence for part in corpus(language) for sentence in part]
    assert sum(map(len, sentences)) >= tokens
    assert len({word for sentence in sentences for word in sentence.words}) >= words
    assert {tag for sentence in sentences for tag in sentence.tags} <= set(tags.split())


@pytest.mark.parametrize("language", ["english", "chinese"])
def test_no_sentence_stands_on_both_sides_or_twice(language):
    train, test = ([sentence.words for sentence in part] for part in corpus(language))
    assert len(set(train) | set(test)) == len(train) + len(test)


@pytest.mark.parametrize("language, words", AMBIGUOUS)
def test_the_same_spelling_has_different_tags(language, words):
    tags = defaultdict(set)
    for part in corpus(language):
        for sentence in part:
            for word, tag in zip(sentence.words, sentence.tags, strict=True):
                tags[word].add(tag)
    assert all(len(tags[word]) >= 2 for word in words.split())


def test_english_holds_what_a_tokeniser_must_not_break():
    words = {word for part in corpus("english") for sentence in part for word in sentence.words}
    assert any(word.startswith("https://") for word in words) and any("@" in word for word in words)
    assert {"and/or", "n't", "'s", "%", "$"} <= words
    assert any(re.fullmatch(r"\d{4}-\d\d-\d\d", word) for word in words)


def test_the_readme_counts_right():
    text = (DATA / "README.md").read_text("utf-8")
    for name in DATA.glob("*.txt"):
        sentences = read_corpus(name)
        assert f"| `{name.name}` | {len(sentences)} | {sum(map(len, sentences)):,} |" in text
