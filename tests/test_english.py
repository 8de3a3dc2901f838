"""English words and sentences, in the manner of the English Web Treebank."""

import time

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tagger.corpus.tokenizers import english

CUT = """
don't = do n't | Don’t = Do n’t | can't = ca n't | won't = wo n't | WASN'T = WAS N'T | dont = do nt
cannot = can not | gonna = gon na | I'm = I 'm | they're = they 're | we've = we 've | he'd = he 'd
she'll = she 'll | He'd've = He 'd 've | dog's = dog 's | dogs' = dogs ' | O'Hara's = O'Hara 's | Shi'ite = Shi'ite
rock-n-roll = rock - n - roll | $5 = $ 5 | US$5.99 = US$ 5.99 | 10% = 10 % | 3,000.50 = 3,000.50 | 10:30 = 10:30
5pm = 5 pm | 5p.m. = 5 p.m. | #1 = # 1 | 1990s = 1990s | 1990's = 1990's | '90s = '90s | 21st = 21st
4105SF = 4105SF | 4G = 4G | 12/24/2001 = 12/24/2001 | 713-853-3989 = 713-853-3989 | 15-year = 15 - year
state-of-the-art = state - of - the - art | e-mail = e-mail | anti-war = anti-war | U.S.-based = U.S. - based
and/or = and / or | w/o = w/o | AT&T's = AT&T 's | R&D = R&D | U.S. = U.S. | p.m. = p.m. | Mr. = Mr. | J. = J.
J.Smith = J. Smith | end. = end . | wait... = wait ... | what?! = what ?! | yes!!! = yes !!! | (see = ( see
"quoted," = " quoted , " | ''x'' = '' x '' | a--b = a -- b | ===== = =====
http://x.org/a?b=c. = http://x.org/a?b=c . | www.x.org, = www.x.org , | j.doe@x.co.uk = j.doe@x.co.uk | @you = @you
report.pdf = report.pdf | comp.sources.unix = comp.sources.unix | #tag = #tag | :-) = :-) | great:) = great : )
<3 = <3 | naïve = naïve | cafe\u0301s = cafe\u0301s | Zürich's = Zürich 's | 你好 = 你好 | x\u00ady = x \u00ad y
"""
CASES = [case.strip().split(" = ", 1) for line in CUT.strip().split("\n") for case in line.split(" | ")]


@pytest.mark.parametrize("piece, words", CASES, ids=[piece for piece, _ in CASES])
def test_words_of_a_piece(piece, words):
    assert " ".join(english.words(piece)) == words


@given(st.text(st.sampled_from("aNst1.,'’-@/:;()!?#$&%<>_\u0301") | st.characters(), max_size=20))
@settings(max_examples=300, deadline=None, derandomize=True)
def test_joined_the_words_are_the_piece_and_none_is_empty(piece):
    words = english.words(piece)
    assert "".join(words) == piece and all(words)


@pytest.mark.parametrize(
    "unit", ["a-", "@", "a.", "'", "a.b-", "1/", "1.", "ab.", "www.", "a&", "http://", "x's", "re-"]
)
def test_no_piece_is_searched_for_ever(unit):
    start = time.perf_counter()
    english.split((unit * 1000)[:1000])
    assert time.perf_counter() - start < 5  # 10 ms, unless the pattern tries all ways to divide the piece


def test_pieces_are_remembered_but_not_endless_ones():
    assert english.words("don't") is english.words("don't")
    assert english.words("x" * 31) is not english.words("x" * 31)


@pytest.mark.parametrize(
    "text",
    [
        "It ends. | Here is more.",
        "Does it? | Yes! | Good.",
        "no capitals. | still two sentences",
        "Mr. Smith and Dr. J. Miller met at 5 p.m. in Washington, D.C. on Monday.",
        "Acme Inc. Chairman Bob left Acme Inc. | The firm is old.",
        "see e.g. Fig. 5, No. 7 and pkg. number 3.",
        '"Why?" he asked. | "I know." | She went.',
        "Well... he went. | Well... | He went!!",
        "Fine. :-) | Next one. | (In brackets.) | Last",
        "Version 2.5 is out",
    ],
)
def test_where_sentences_end(text):
    found, words = [], []
    for piece in text.replace(" | ", " ").split():
        if words and english.ends(words, piece):
            found.append("|")
            words = []
        found.append(piece)
        words += english.words(piece)
    assert " ".join(found) == text


def test_at_the_end_of_a_line_a_final_mark_is_enough_and_an_abbreviation_is_not():
    assert english.ends(["It", "ends", "."], None) and english.ends(["ends", ".", '"'], None)
    assert not english.ends(["by", "Mr."], None) and not english.ends(["It", "goes"], None)
    assert not english.ends(["in", "the", "U.S."], None)
