"""How well, and how fast, libraries split raw English into the sentences and words of a CoNLL-U file.

    python scripts/compare_tokenizers.py $CORPORA/english-ewt-dev.conllu [--only NAME] [--errors N]

The raw text is that of the file: each `# newdoc` is one document, the texts of its sentences joined by spaces, words
joined unless a space follows them. A token or sentence counts as found when both its ends are right, in characters;
F1 is over all documents, as in the shared tasks of Universal Dependencies (words of a multiword token count singly).
Only libraries that are installed take part. Seconds are the best of three runs over the whole text, each with a new
splitter that has seen one document.
"""

from __future__ import annotations

import argparse
import importlib.metadata
import time
from collections import Counter
from collections.abc import Callable, Iterator

from tagger.corpus.formats.conllu import ID

Span = tuple[int, int]
Splitter = Callable[[str], list[list[str]]]  # a document -> sentences of words


def documents(path: str) -> Iterator[tuple[str, list[list[Span]]]]:
    """Text and gold spans, sentence by sentence, of every document."""
    text, sentences = "", []
    with open(path, encoding="utf-8") as stream:  # noqa: PTH123
        for block in stream.read().strip("\n").split("\n\n"):
            lines = block.split("\n")
            if text and any(line.startswith("# newdoc") for line in lines):
                yield text.rstrip(" "), sentences
                text, sentences = "", []
            spans = []
            joined_until, space_after_range = 0, False
            for cells in (line.split("\t") for line in lines if not line.startswith("#")):
                spaced = "SpaceAfter=No" not in cells[9].split("|")
                if "-" in cells[0]:
                    joined_until, space_after_range = int(cells[0].split("-")[1]), spaced
                elif ID.fullmatch(cells[0]):
                    spans.append((len(text), len(text) + len(cells[1])))
                    if int(cells[0]) < joined_until:
                        spaced = False
                    elif int(cells[0]) == joined_until:
                        spaced = space_after_range
                    text += cells[1] + " " * spaced
            sentences.append(spans)
            text = text.rstrip(" ") + " "
    yield text.rstrip(" "), sentences


def placed(text: str, sentences: list[list[str]]) -> list[list[Span]]:
    """Where the words stand; one that was changed (`` for ", say) is looked for by its length."""
    at, found = 0, []
    for words in sentences:
        spans = []
        for word in words:
            while at < len(text) and text[at].isspace():
                at += 1
            begin = text.find(word, at, at + len(word) + 8)
            begin = at if begin < 0 else begin
            at = begin + len(word)
            spans.append((begin, at))
        if spans:
            found.append(spans)
    return found


def f1(gold: set[tuple[int, ...]], found: set[tuple[int, ...]]) -> float:
    return 200 * len(gold & found) / (len(gold) + len(found))


def ours() -> Splitter:
    from tagger.corpus.tokenizers import english

    english.cached_split.cache_clear()

    def split(text: str) -> list[list[str]]:
        found: list[list[str]] = [[]]
        for piece in english.PIECE.findall(text):
            if found[-1] and english.ends(found[-1], piece):
                found.append([])
            found[-1] += english.words(piece)
        return found

    return split


def by_nltk(splitter: Callable[[str], list[str]]) -> Splitter:
    from nltk.tokenize import NLTKWordTokenizer

    words = NLTKWordTokenizer()
    return lambda text: [[s[a:b] for a, b in words.span_tokenize(s)] for s in splitter(text)]


def nltk_punkt() -> Splitter:
    """Punkt without a trained model, which would have to be downloaded."""
    from nltk.tokenize.punkt import PunktSentenceTokenizer

    return by_nltk(PunktSentenceTokenizer().tokenize)


def pysbd_sentences() -> Callable[[str], list[str]]:
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import pysbd
    return pysbd.Segmenter(language="en", clean=False).segment


def pysbd_nltk() -> Splitter:
    return by_nltk(pysbd_sentences())


def pysbd_sacremoses() -> Splitter:
    from sacremoses import MosesTokenizer

    words, sentences = MosesTokenizer("en"), pysbd_sentences()
    return lambda text: [words.tokenize(s, escape=False) for s in sentences(text)]


def pysbd_utoken() -> Splitter:
    from utoken import utokenize

    words, sentences = utokenize.Tokenizer(lang_code="eng"), pysbd_sentences()
    return lambda text: [words.utokenize_string(s).split() for s in sentences(text)]


def syntok_both() -> Splitter:
    from syntok import segmenter
    from syntok.tokenizer import Tokenizer

    # emit_hyphen_or_underscore_sep keeps hyphens as tokens, replace_not_contraction=False keeps n't as it is written
    words = Tokenizer(emit_hyphen_or_underscore_sep=True, replace_not_contraction=False)
    return lambda text: [[t.value for t in s] for s in segmenter.segment(iter(words.split(text)))]


def segtok_both() -> Splitter:
    from segtok.segmenter import split_single
    from segtok.tokenizer import split_contractions, web_tokenizer

    return lambda text: [split_contractions(web_tokenizer(s)) for s in split_single(text) if s]


def blingfire_both() -> Splitter:
    import blingfire

    return lambda text: [blingfire.text_to_words(s).split() for s in blingfire.text_to_sentences(text).split("\n")]


def somajo_both() -> Splitter:
    from somajo import SoMaJo

    words = SoMaJo("en_PTB", split_camel_case=False, split_sentences=True)
    return lambda text: [[t.text for t in s] for s in words.tokenize_text([text])]


def spacy_both() -> Splitter:
    import spacy

    pipeline = spacy.blank("en")
    pipeline.add_pipe("sentencizer")
    return lambda text: [[t.text for t in s if not t.is_space] for s in pipeline(text).sents]


def spacy_pysbd() -> Splitter:
    import spacy

    pipeline, sentences = spacy.blank("en"), pysbd_sentences()
    return lambda text: [[t.text for t in pipeline(s) if not t.is_space] for s in sentences(text)]


CANDIDATES: dict[str, tuple[str, Callable[[], Splitter]]] = {
    "tagger": ("hmm-crf-tagger", ours),
    "spaCy blank + sentencizer": ("spacy", spacy_both),
    "pySBD + spaCy blank": ("spacy", spacy_pysbd),
    "SoMaJo en_PTB": ("somajo", somajo_both),
    "syntok": ("syntok", syntok_both),
    "segtok": ("segtok", segtok_both),
    "Bling Fire": ("blingfire", blingfire_both),
    "NLTK + untrained Punkt": ("nltk", nltk_punkt),
    "pySBD + NLTK": ("nltk", pysbd_nltk),
    "pySBD + sacremoses": ("sacremoses", pysbd_sacremoses),
    "pySBD + utoken": ("utoken", pysbd_utoken),
}


def measure(
    make: Callable[[], Splitter], texts: list[str], gold: list[list[list[Span]]], errors: int
) -> tuple[float, ...]:
    seconds = []
    for _ in range(3):
        splitter = make()
        splitter(texts[0])
        start = time.perf_counter()
        found = [splitter(text) for text in texts]
        seconds.append(time.perf_counter() - start)
    spans = [placed(text, sentences) for text, sentences in zip(texts, found, strict=True)]
    if errors:
        show_errors(texts, gold, spans, errors)
    return f1(tokens(gold), tokens(spans)), f1(ends(gold), ends(spans)), len(tokens(gold)) / min(seconds)


def tokens(spans: list[list[list[Span]]]) -> set[tuple[int, ...]]:
    return {(i, *span) for i, document in enumerate(spans) for sentence in document for span in sentence}


def ends(spans: list[list[list[Span]]]) -> set[tuple[int, ...]]:
    return {(i, s[0][0], s[-1][1]) for i, document in enumerate(spans) for s in document}


def show_errors(texts: list[str], gold: list[list[list[Span]]], found: list[list[list[Span]]], count: int) -> None:
    wrong: Counter[str] = Counter()
    right = tokens(gold)
    for i, begin, end in sorted(tokens(found) - right):
        touched = [(a, b) for s in gold[i] for a, b in s if a < end and b > begin]
        if touched:
            wrong[f"{texts[i][begin:end]}  should be  {' | '.join(texts[i][a:b] for a, b in touched)}"] += 1
    for what, times in wrong.most_common(count):
        print(f"{times:6} {what}")


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("conllu")
    parser.add_argument("--only", choices=list(CANDIDATES))
    parser.add_argument("--errors", type=int, default=0, metavar="N", help="show the N most frequent wrong tokens")
    args = parser.parse_args()
    texts, gold = map(list, zip(*documents(args.conllu), strict=True))
    print(f"{len(texts)} documents, {sum(map(len, gold)):,} sentences, {len(tokens(gold)):,} words")
    print("| splitter | version | token F1 | sentence F1 | tokens/s |\n|---|---|---:|---:|---:|")
    for name, (package, make) in CANDIDATES.items():
        if args.only in (None, name):
            try:
                make()
            except ImportError:
                continue
            version = importlib.metadata.version(package)
            token, sentence, speed = measure(make, texts, gold, args.errors)
            print(f"| {name} | {version} | {token:.2f} | {sentence:.2f} | {speed:,.0f} |", flush=True)


if __name__ == "__main__":
    main()
