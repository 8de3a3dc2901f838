"""Train the English model that comes with the package, and write it with its model card.

    python scripts/train_pretrained.py MASC --compare EWT/dev.txt

MASC is a folder with train.txt and dev.txt of the Manually Annotated Sub-Corpus of the American National Corpus, as
word/TAG. The figures of the card come from models that have not seen the text: contiguous folds of train.txt, which
keep documents together; dev.txt, whose sentences are from the documents of train.txt; and a corpus of another kind, UD
English EWT (XPOS). The model itself is trained on train.txt, dev.txt and the corpora in data/.

A few tags of MASC are slips, or marks in the place of Penn tags, and some marks are tagged as nouns: `PENN_TAGS` and
`MARKS` replace them, in the gold tags of dev.txt, too. The model stores words, counts and weights: no sentences, and
not the hashes of sentences that other models have.
"""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from tagger import PooledTagger, Sentence, evaluate, read_corpus, save_model
from tagger.corpus.tag_map import TagMap
from tagger.evaluation.metrics import Evaluation
from tagger.experiments.crossval import TaggerFactory, cross_validate
from tagger.models.base import Tagger
from tagger.pretrained import FOLDER

ROOT = Path(__file__).resolve().parent.parent
MAX_BYTES = 4_000_000
FOLDS = 5
POOLED = TaggerFactory(PooledTagger, {})

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
accuracy: {masc} on new documents of MASC, {ewt} on EWT
corpus: MASC, the Manually Annotated Sub-Corpus of the American National Corpus, and the corpora in data/
licence: MIT; MASC is free for any use, data/ is CC0 1.0

Corpus. {sentences:,} sentences, {tokens:,} tokens: MASC (Ide et al. 2010; www.anc.org), American English since 1990,
written and spoken: letters, e-mail, essays, fiction, news, blogs, technical and travel texts, conversations, debates, a
court; and data/, written for this project. Words, counts and weights are stored, but no sentences.

Figures. Accuracy of models that have not seen the text, with 95 % intervals:
- {masc} ({masc_interval}) on new documents: MASC train in {folds} contiguous folds;
- {dev} ({dev_interval}) on other sentences of the same documents: MASC dev;
  known words {dev_known}, unknown words {dev_unknown};
- {ewt} ({ewt_interval}) on web text that was tagged by other people: UD English EWT dev (XPOS);
  known words {ewt_known}, unknown words {ewt_unknown}. Where the tag sets of MASC and EWT differ,
  tags are mapped: all marks are one tag, so are TO and IN, ADD and NN. Without the map it is {ewt_unmapped}.

Limits. Text unlike that of MASC is tagged less well, as the figure for EWT shows. MASC keeps words with hyphens
together, the tokenizer `english` splits them. The straight quote " is mostly tagged '': MASC does not distinguish
opening from closing quotes. NN, NNP and NNPS follow MASC, which is not always consistent.
"""


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


def cross_validated(make: TaggerFactory, sentences: Sequence[Sentence]) -> Evaluation:
    """Evaluate models trained without the document that they tag."""
    folds = cross_validate(make, sentences, FOLDS, contiguous=True)
    return evaluate(sentences, [tags for fold in folds for tags in fold.tags])


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


def build(masc: Path, ewt: Path, output: Path, make: TaggerFactory = POOLED) -> Tagger:
    """Train and evaluate, train again on everything, and write the model."""
    own = [sentence for name in ("train", "test") for sentence in read_corpus(ROOT / f"data/english-{name}.txt")]
    train, dev, other = read_masc(masc / "train.txt"), read_masc(masc / "dev.txt"), read_corpus(ewt)
    trial = make().fit([*train, *own])
    scores = {"masc": cross_validated(make, train), "dev": judge(trial, dev), "ewt": judge(trial, other, COMMON_TAGS)}
    everything = [*train, *dev, *own]
    model = make().fit(everything)
    model.card_ = CARD.format(
        sentences=len(everything),
        tokens=sum(map(len, everything)),
        folds=FOLDS,
        ewt_unmapped=percent(judge(trial, other).accuracy),
        **dict(item for name, each in scores.items() for item in figures(name, each).items()),
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
        raise SystemExit(f"expected at most {MAX_BYTES:,} bytes. Raise min_count or min_pair_count in `POOLED`.")


if __name__ == "__main__":
    main()
