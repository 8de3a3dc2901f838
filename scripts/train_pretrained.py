"""Train the English model that comes with the package, and write it with its model card.

    python scripts/train_pretrained.py MASC --compare EWT/dev.txt

MASC is a folder with train.txt and dev.txt of the Manually Annotated Sub-Corpus of the American National Corpus, as
word/TAG. The figures of the card are those of a model trained without dev.txt: on dev.txt, and on a corpus of another
kind, UD English EWT (XPOS). The model itself is trained on both files and on the corpora in data/.

A few tags of MASC are slips, or marks in the place of Penn tags, and some marks are tagged as nouns: `PENN_TAGS` and
`MARKS` replace them, in the gold tags of dev.txt, too. The model stores words, counts and weights: no sentences, and
not the hashes of sentences that other models have.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Sequence
from pathlib import Path

from tagger import PooledTagger, Sentence, evaluate, read_corpus, save_model
from tagger.corpus.tag_map import TagMap
from tagger.evaluation.metrics import Evaluation
from tagger.models.base import Tagger
from tagger.pretrained import FOLDER

ROOT = Path(__file__).resolve().parent.parent
MAX_BYTES = 4_000_000

PENN_TAGS = {
    '"': "''", "'": "''", "(": "-LRB-", ")": "-RRB-", "-": ":", "--": ":", "...": ":", ";": ":", "*": "SYM", "|": "SYM",
    "LRB": "NN", "PP": "PRP", "PRN": "PRP", "UH`": "UH", "VBG|NN": "VBG", "one-time": "NN",
}  # fmt: skip
MARKS = {"[": "-LRB-", "]": "-RRB-", "<": "SYM", ">": "SYM", "*": "SYM", "+": "SYM", "/": "SYM", "–": ":"}

# For the comparison with EWT, both sides renamed: EWT has HYPH, NFP and ADD, writes dashes and dots as commas, and tags
# the preposition "to" IN. Its GW (parts of a word) and AFX (affixes) have no counterpart and stay errors.
MARK_TAGS = (",", ".", ":", "``", "''", "-LRB-", "-RRB-", "SYM", "HYPH", "NFP")
COMMON_TAGS = dict.fromkeys(MARK_TAGS, "MARK") | {"TO": "IN", "#": "NN", "ADD": "NN"}

CARD = """language: English
tags: Penn Treebank
accuracy: {masc} on MASC dev, {ewt} on EWT dev
corpus: MASC, the Manually Annotated Sub-Corpus of the American National Corpus, and the corpora in data/
licence: MIT; MASC is free for any use, data/ is CC0 1.0

Corpus. {sentences:,} sentences, {tokens:,} tokens: MASC (Ide et al. 2010; www.anc.org), American English since 1990,
written and spoken: letters, e-mail, essays, fiction, news, blogs, technical and travel texts, conversations, debates, a
court; and data/, written for this project. Words, counts and weights are stored, but no sentences.

Figures. A model trained without MASC dev has an accuracy of {masc} on it (95 % interval {masc_interval}; known words
{masc_known}, unknown words {masc_unknown}), and of {ewt} on EWT dev (95 % interval {ewt_interval}; known words
{ewt_known}, unknown words {ewt_unknown}), web text that was tagged by other people. Where the tag sets of
MASC and EWT differ they are mapped: all marks are one tag, so are TO and IN, ADD and NN. Without the map
it is {ewt_unmapped}.

Limits. American English as written by adults; other varieties, verse and tweets are tagged less well. MASC keeps words
with hyphens together, the tokenizer `english` splits them. The straight quote " is tagged '' wherever it is: MASC does
not distinguish opening from closing quotes. Tags of names and nouns (NN, NNP, NNPS) follow MASC, which is not always
consistent. Do not use it where a wrong tag does harm.
"""


def new_tagger() -> Tagger:
    """Make the untrained tagger."""
    return PooledTagger()


def read_masc(path: Path) -> list[Sentence]:
    """Read a part of MASC with Penn tags."""

    def penn_tag(word: str, tag: str) -> str:
        return MARKS[word] if tag == "NN" and word in MARKS else PENN_TAGS.get(tag, tag)

    sentences = read_corpus(path)
    return [sentence.with_tags(list(map(penn_tag, sentence.words, sentence.tags or ()))) for sentence in sentences]


def judge(model: Tagger, gold: Sequence[Sentence], tags: dict[str, str] | None = None) -> Evaluation:
    """Evaluate a model, tags of both sides renamed."""
    tag_map = TagMap(tags or {})
    guesses = [tag_map.tags(sentence) for sentence in model.predict(gold)]
    return evaluate([tag_map.sentence(sentence) for sentence in gold], guesses, model.lexicon_)


def percent(rate: float | None) -> str:
    return f"{100 * (rate or 0):.2f} %"


def figures(name: str, scores: Evaluation) -> dict[str, str]:
    """Return the figures of a card, as text."""
    low, high = scores.accuracy_interval or (0.0, 1.0)
    return {
        name: percent(scores.accuracy),
        f"{name}_interval": f"{100 * low:.2f} to {100 * high:.2f}",
        f"{name}_known": percent(scores.known_accuracy),
        f"{name}_unknown": percent(scores.unknown_accuracy),
    }


def build(masc: Path, ewt: Path, output: Path, make: Callable[[], Tagger] = new_tagger) -> Tagger:
    """Train and evaluate, train again on everything, and write the model."""
    own = [sentence for name in ("train", "test") for sentence in read_corpus(ROOT / f"data/english-{name}.txt")]
    train, dev, other = read_masc(masc / "train.txt"), read_masc(masc / "dev.txt"), read_corpus(ewt)
    trial = make().fit([*train, *own])
    scores = figures("masc", judge(trial, dev)) | figures("ewt", judge(trial, other, COMMON_TAGS))
    everything = [*train, *dev, *own]
    model = make().fit(everything)
    model.card_ = CARD.format(
        sentences=len(everything),
        tokens=sum(map(len, everything)),
        ewt_unmapped=percent(judge(trial, other).accuracy),
        **scores,
    )
    model.column_, model.tokenizer_, model.seen_ = "xpos", "english", model.seen_[:0]
    save_model(model, output)
    return model


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("masc", type=Path, help="folder with train.txt and dev.txt")
    parser.add_argument("--compare", type=Path, required=True, metavar="FILE", help="dev.txt of EWT (XPOS)")
    parser.add_argument("-o", "--output", type=Path, default=FOLDER / "english.npz", help="default: %(default)s")
    options = parser.parse_args()
    model = build(options.masc, options.compare, options.output)
    print(model.card_)
    size = options.output.stat().st_size
    print(f"{options.output}: {size:,} bytes")
    if size > MAX_BYTES:
        raise SystemExit(f"expected at most {MAX_BYTES:,} bytes. Raise min_count or min_pair_count of `new_tagger`.")


if __name__ == "__main__":
    main()
