"""The exact wording of messages, in one golden file.

Every other test asks for the class of an error, its place and the exit code; the sentences are in `golden/messages.txt`
and nowhere else. After a change of wording run

    python tests/test_messages.py --update

and read the difference as a reader of the program would.
"""

from __future__ import annotations

import difflib
import gzip
import json
import shlex
import sys
import tempfile
from functools import partial
from pathlib import Path

import numpy as np
import pytest
from paths import TESTS
from program import run

from tagger import (
    CRFTagger,
    HMMTagger,
    PooledTagger,
    Sentence,
    chain,
    evaluate,
    find_spans,
    load_model,
    read_corpus,
    save_model,
    tokenize,
    write_corpus,
)
from tagger.corpus.tag_map import read_tag_map
from tagger.crf.settings import check_templates
from tagger.errors import CorpusError, FileError, ModelError, TaggerError, TemplateError, TrainingError
from tagger.experiments.crossval import fold_numbers
from tagger.features.template import parse_templates, template_text
from tagger.files import resources
from tagger.integrations.crfsuite import CRF
from tagger.models.store import load_classes
from tagger.neural.word_vectors import read_vectors

GOLDEN = TESTS / "golden" / "messages.txt"
ROW = "1\tdog\t_\t{}\t{}" + "\t_" * 5 + "\n"

FILES = {  # what lies in the folder of a command
    "good.txt": "a/X b/Y\nb/Y a/X\n",
    "plain.txt": "a b\n",
    "good.tsv.txt": "Why\tWRB\nnot\tRB\n\n",
    "lemma.tsv": "".join(f"w{i}\tw\tN\t\n\n" for i in range(30)),
    "lemmas.txt": "".join(f"word{i}/lemma{i % 25} ,/,\n" for i in range(25)),
    "long.txt": ("dog/NN " * 200 + "\n") * 3,
    "words.txt": "Yes/UH\nNo/UH\n",
    "few.txt": "dog/NN\nbarks/VBZ\n./.\n" * 20 + "\n",
    "partly.txt": "the/D dog/N barks/V\nthe/D cat/? barks/V\nreally/? ?/?\n",
    "bad.txt": "a/X\nb/Y c\n",
    "no-word.txt": "a/X b/Y\nb/Y /NN\n",
    "no-tag.txt": "a/X b/Y\nb/Y dog/\n",
    "no-slash-first.txt": "The_DT\n",
    "bad.tsv": "a\tX\nb\nc\tX\n\n",
    "sizes.tsv": "word\tsize\ttag\na\t1\tX\nb\t2\tY\n\n",
    "tall.tsv": "word\tsize\ttag\na\t1\tX\nb\ttall\tY\n\n",
    "large.tsv": "word\tsize\ttag\na\t-1e12\tX\n\n",
    "nan.tsv": "word\tsize\ttag\na\tnan\tX\n\n",
    "number.txt": "number:size[0]\n",
    "columns.tsv": "a\tX\tx\tz\tu\n",
    "bad.conllu": "1\tdog\n",
    "no-tags.conllu": ROW.format("_", "NN"),
    "bare.conllu": "# sent_id = 1\n" + ROW.format("X", "_"),
    "bad.jsonl": "dog\n",
    "shape.jsonl": '{"words": ["a"], "tags": ["A", "B"]}\n',
    "words.jsonl": '{"words": ["a"]}\n',
    "spaces.jsonl": '{"words": ["New York"], "tags": ["NNP"]}\n',
    "texts.jsonl": '{"id": 1, "body": "x"}\n',
    "bad.pku": "a/ b/n\n",
    "excel.txt": "a\n".encode("utf-16"),
    "latin.txt": b"a\ncaf\xe9\n",
    "broken.gz": gzip.compress(b"a b c\n" * 100, mtime=0)[:-12],
    "data.bin": b"PAR1\x15\x04" + bytes(100),
    "empty.txt": "",
    "blank.txt": "\n \n",
    "unseen.txt": "a/Q\n",
    "shifted.txt": "a/X c/Y\nb/Y a/X\n",
    "shorter.txt": "a/X b/Y\n",
    "kept.txt": "b/Y and/or\n",
    "template.txt": "word[0]\n\nwrod[0]\n",
    "classed.txt": "word[0]\nclass:32[0]\n",
    "clusters.txt": "0\ta\t1\nb\n",
    "map.tsv": "NN\tNOUN\nNN NOUN\n",
    "map-twice.tsv": "NN\tNOUN\n\nNN\tVERB\n",
    "lexicon.tsv": "zig NN\n",
    "lexicon-tags.tsv": "a\tX\nzag\tQQ\n",
    "lexicon-strict.tsv": "b\tX\n",
    "garbage.npz": bytes(range(256)) * 20,
    "empty.npz": b"",
    "state.checkpoint": "precious",
}

FORGED = {  # models whose description was changed
    "newer.npz": {"format": 99, "program": "9.9"},
    "kind.npz": {"kind": "perceptron"},
    "tags.npz": {"tags": ["Y", "X"]},
    "setting.npz": {"settings": {"nonsense": 1}},
    "column.npz": {"column": "feats"},
    "summary.npz": {"summary": {"tokens": [1]}},
    "normalization.npz": {"normalization": "NFX"},
}

# Refusals: exit code 1, one line, which names this place; nothing is left behind.
REFUSED = {
    "train-hmm none.txt": "none.txt",
    "tag none.txt": "none.txt",
    "train-crf tall.tsv --features number.txt --columns word,size,tag -q": "line 3:",
    "train-crf large.tsv --features number.txt --columns word,size,tag -q": "line 2:",
    "train-crf nan.tsv --features number.txt --columns word,size,tag -q": "line 2:",
    "train-crf sizes.tsv --features number.txt --columns word,size,tag -q --dev tall.tsv": "dev set: line 3:",
    "train-crf good.txt --features number.txt": "good.txt",
    "tag .": ".",
    "train-hmm bad.txt": "bad.txt:2:",
    "train-crf bad.txt": "bad.txt:2:",
    "eval bad.txt": "bad.txt:2:",
    "check no-word.txt": "no-word.txt:2:",
    "check no-tag.txt": "no-tag.txt:2:",
    "check no-slash-first.txt": "no-slash-first.txt:1:",
    "check bad.tsv": "bad.tsv:2:",
    "tag bad.conllu": "bad.conllu:1:",
    "check no-tags.conllu": "no-tags.conllu:1:",
    "train-hmm no-tags.conllu": "no-tags.conllu:1:",
    "check no-tags.conllu --column xpos --input-format slash": "no-tags.conllu:1:",
    "tag bad.jsonl": "bad.jsonl:1:",
    "check shape.jsonl": "shape.jsonl:1:",
    "check words.jsonl": "words.jsonl:1:",
    "check bad.pku --input-format pku": "bad.pku:1:",
    "convert spaces.jsonl -": "spaces.jsonl",
    "tag spaces.jsonl --output-format slash": "spaces.jsonl",
    "tag latin.txt": "latin.txt:2:",
    "tag excel.txt": "excel.txt",
    "tag broken.gz": "broken.gz",
    "tag data.bin": "data.bin",
    "check model.npz": "model.npz",
    "train-hmm empty.txt": "empty.txt",
    "train-crf blank.txt": "blank.txt",
    "eval blank.txt": "blank.txt",
    "convert blank.txt -": "blank.txt",
    "tag good.txt --encoding klingon": "klingon",
    "tag good.txt --encoding hex": "hex",
    "tag good.txt --encoding rot13": "rot13",
    "tag good.txt --encoding undefined": "undefined",
    "tag good.txt --encoding utf-16": "good.txt",
    "features --features template.txt": "template.txt:3:",
    "features --features none": "none",
    "train-crf good.txt --features classed.txt": "classed.txt",
    "train-crf good.txt --classes clusters.txt": "clusters.txt:2:",
    "train-crf good.txt --classes none.npz": "none.npz",
    "train-crf good.txt --init model.npz": "model.npz",
    "train-crf good.txt --dev unseen.txt": "Q",
    "train-crf good.txt --resume": "model.npz.checkpoint",
    "train-crf good.txt --checkpoint state.checkpoint": "state.checkpoint",
    "train-crf good.txt --log none/log": "none/log",
    "train-hmm good.txt --lexicon lexicon.tsv": "lexicon.tsv:1:",
    "train-hmm good.txt --lexicon lexicon-tags.tsv": "lexicon-tags.tsv:2:",
    "train-hmm good.txt -o bad.tsv": "bad.tsv",
    "train-hmm good.txt -o none/": "none/",
    "train-hmm good.txt -o good.txt": "good.txt",
    "tag good.txt -o none/out.txt": "none/out.txt",
    "tag good.txt -o .": "good.txt",
    "tag good.txt -o good.txt": "good.txt",
    "tag good.txt -o model.npz": "model.npz",
    "tag -m none.npz": "none.npz",
    "tag -m garbage.npz": "garbage.npz",
    "tag -m empty.npz": "empty.npz",
    "tag -m cut.npz": "cut.npz",
    **{f"tag -m {name}": name for name in FORGED},
    "tag -m foreign.npz": "foreign.npz",
    "tag -m array.npz": "array.npz",
    "tag -m model.npz -m other.npz": "other.npz",
    "tag bad.txt --keep-tags --lexicon none.tsv": "none.tsv",
    "tag kept.txt --keep-tags": "kept.txt:1:",
    "tag unseen.txt --keep-tags": "unseen.txt:1:",
    "tag good.txt --keep-tags --lexicon lexicon-strict.tsv": "good.txt:1:",
    "tag good.txt --lexicon lexicon-tags.tsv": "lexicon-tags.tsv:2:",
    "tag texts.jsonl --tokenize": "texts.jsonl:1:",
    "tag bare.conllu --tokenize": "bare.conllu:2:",
    "tag plain.txt --map map.tsv": "map.tsv:2:",
    "tag plain.txt --map map-twice.tsv": "map-twice.tsv:3:",
    "eval good.txt --predictions shifted.txt": "shifted.txt",
    "eval good.txt --predictions shorter.txt": "shorter.txt",
    "eval good.txt --report good.txt": "good.txt",
    "eval good.txt --report same.html -o same.html": "same.html",
    "split good.txt --output-folder none/new": "none",
    "split good.txt --dev 0.01 --test 0": "good.dev.txt",
    "crossval good.txt --folds 9": "9",
}

# Wrong usage: exit code 2. Only the last line is ours; the lines before it are click's.
WRONG_USAGE = [
    "tag good.txt --part 1/2",
    "tag good.txt -o new/ --part 3/2",
    "tag good.txt --scheduler local:2",
    "tag good.txt -o new/ --scheduler local:2 --jobs 2",
    "crossval good.txt --scheduler nowhere",
    "crossval good.txt --scheduler local:2 --jobs 2",
    "train-crf - --scheduler local:2",
    "train good.txt --scheduler local:2 --partial",
    "train-hmm good.txt --scheduler local:2 --partial",
    "train-crf good.txt --scheduler local:2 --partial --threads 2",
    "tag -o new/",
    "train-crf good.txt --patience 3",
    "train-crf good.txt --tune --resume",
    "train-crf good.txt --tune --partial",
    "train-crf good.txt --init crf.npz --features default",
    "train-crf good.txt --init crf.npz --classes c.npz",
    "train-crf good.txt --unlabeled good.txt --classes c.npz",
    "train-crf good.txt --unlabeled -",
    "train-crf good.txt --log -",
    "train-crf - --dev -",
    "train-hmm good.txt --order 1 --partial",
    "train-hmm good.txt --smoothing none",
    "train-hmm good.txt --unknown suffix --partial",
    "train-hmm good.txt --unknown floor --unlabeled words.txt",
    "train-crf good.txt --order 0 --candidates 0.01",
    "train good.txt --order 0",
    "inspect --table A --json",
    "train-hmm good.txt --rare-count 1000000000000",
    "train-hmm good.txt --max-memory x",
    "train-hmm good.txt --max-memory 10M",
    "train-crf a.txt b.txt",
    "split a.txt 'b c.txt'",
    "tag de.npz text.txt",
    "eval gold.txt de.npz",
    "tag good.txt --probabilities",
    "tag good.txt --nbest 2 --output-format tsv",
    "tag good.txt --nbest 2 --min-probability 0.5",
    "tag good.txt --to-column xpos",
    "tag good.txt --text-column body",
    "tag good.txt --tokenize --keep-tags",
    "tag good.txt --tokenize --input-format slash",
    "tag --tokenize bad.tsv",
    "tag --tokenize german",
    "explain -m model.npz -m other.npz",
    "explain --html --json",
    "explain 'They can fish .'",
    "crossval good.txt --tune",
    "crossval good.txt --kind hmm --l2 1",
    "learn-classes -",
    "convert good.txt x.jsonl --to-tool doccano --output-format tsv",
    "convert shape.jsonl x.txt --from-tool doccano --on-error skip",
    "convert good.txt x.txt --labels spans",
    "train",
    "evaluate",
    "explian",
]

# Remarks of commands that succeed. Only lines that begin with "hint:" or "warning:", or tell of skipped lines.
REMARKS = [
    "tag good.tsv.txt",
    "train-hmm lemma.tsv -o new.npz",
    "check lemmas.txt",
    "check long.txt",
    "train-hmm words.txt -o new.npz",
    "train-hmm few.txt -o new.npz",
    "train-hmm partly.txt -o new.npz",
    "tag good.txt",
    "tag unseen.txt --keep-tags --on-error skip",
    "check columns.tsv",
    "train-hmm bad.txt --on-error skip -o new.npz",
    "train-hmm shorter.txt -o new.npz",
    "train-crf good.txt --init other.npz --max-iterations 2 -o new.npz",
    "train-crf good.txt --l2 1e6 -o new.npz",
    "eval unseen.txt",
    "convert good.txt new.csv",
]


def wide_corpus():
    return [Sentence([f"w{i % 50}" for i in range(20)], [f"T{20 * n + i}" for i in range(20)]) for n in range(100)]


def too_large(make):
    """A training that would need more memory than there is."""
    allowed, resources.allowed = resources.allowed, lambda: 10**8
    try:
        make().fit(wide_corpus())
    finally:
        resources.allowed = allowed


def written(reader, text, name="x.txt"):
    """Read a text with `reader` from a file whose name alone is shown."""
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / name
        path.write_text(text)
        try:
            reader(path)
        except TaggerError as error:
            raise type(error)(str(error).replace(f"{folder}/", "")) from None


ONE = [Sentence(["a"], ["A"])]
HMM = partial(HMMTagger, order=1)
ZERO = np.zeros


def no_features(sentence):
    return []


# Errors of the library: the class, and a call that raises it.
CALLS = {
    "Sentence: fewer tags than words": (ValueError, lambda: Sentence(["a", "b"], ["X"])),
    "Sentence: more probabilities than words": (ValueError, lambda: Sentence(["a"], ["X"], probabilities=[0.5, 0.5])),
    "Sentence: a string": (TypeError, lambda: Sentence("She")),
    "Sentence: a column that is a string": (TypeError, lambda: Sentence(["a"], columns={"pos": "NN"})),
    "Sentence: a list of columns": (TypeError, lambda: Sentence(["a"], columns=["pos"])),
    "fit: a string": (TypeError, lambda: HMM().fit("She", [["A"]])),
    "fit: a number among words": (TypeError, lambda: HMM().fit([["a"], ["b", 7]], [["A"], ["A", "A"]])),
    "fit: no tags": (ValueError, lambda: HMM().fit([["a"]])),
    "fit: fewer tags than words": (ValueError, lambda: HMM().fit([["a", "b"]], [["A"]])),
    "fit: fewer lists of tags than sentences": (ValueError, lambda: HMM().fit([["a"]], [])),
    "fit: tags that are numbers": (TypeError, lambda: HMM().fit([["a"]], [[1]])),
    "fit: an empty corpus": (TrainingError, lambda: HMM().fit([])),
    "fit: words and dicts": (CorpusError, lambda: CRFTagger().fit([["x"], [{"a": 1}]], [["A"], ["B"]])),
    "fit: a feature that is too large": (CorpusError, lambda: CRFTagger().fit([[{"a": 1e12}]], [["A"]])),
    "fit: a feature that is not finite": (CorpusError, lambda: CRFTagger().fit([[{"a": float("nan")}]], [["A"]])),
    "fit: a feature of no type": (CorpusError, lambda: CRFTagger().fit([[{}, {"a": None}]], [["A", "A"]])),
    "fit: a feature without a name": (CorpusError, lambda: CRFTagger().fit([[{1: "a"}]], [["A"]])),
    "fit: features that are a number": (CorpusError, lambda: CRFTagger().fit([[{}, 7]], [["A", "A"]])),
    "fit: features of no words, order 2": (TrainingError, lambda: CRFTagger(order=2).fit([[{}]], [["A"]])),
    "fit: features and a template": (TrainingError, lambda: CRFTagger(features="chunking").fit([[{}]], [["A"]])),
    "fit: too few features by a function": (
        CorpusError,
        lambda: CRFTagger(features=lambda s: []).fit([["a"]], [["A"]]),
    ),
    "predict: dicts for words": (TypeError, lambda: HMM().fit(ONE).predict([[{"a": 1}]])),
    "predict: words for dicts": (CorpusError, lambda: CRFTagger().fit([[{"a": 1}]], [["A"]]).predict([["a"]])),
    "fit: a number that is not whole": (TrainingError, lambda: CRFTagger(min_count=1.5).fit(ONE)),
    "fit: a number as text": (TrainingError, lambda: CRFTagger(l2="0.5").fit(ONE)),
    "fit: a word for yes or no": (ValueError, lambda: HMMTagger(partial="no").fit(ONE)),
    "fit: a template that is no name": (TrainingError, lambda: CRFTagger(features=Path("t.txt")).fit(ONE)),
    "fit: suffixes of -1 letters": (ValueError, lambda: HMMTagger(suffix_length=-1).fit(ONE)),
    "fit: to continue from a file's name": (TrainingError, lambda: CRFTagger().fit(ONE, init="crf.npz")),
    "fit: to add a model that is not fitted": (
        ModelError,
        lambda: PooledTagger(max_iterations=1, threads=1).fit(ONE, add=[HMMTagger()]),
    ),
    "fit: order 3": (ValueError, lambda: HMMTagger(order=3).fit(ONE)),
    "fit: unknown smoothing": (ValueError, lambda: HMMTagger(smoothing="some").fit(ONE)),
    "fit: no smoothing with order 2": (ValueError, lambda: HMMTagger(smoothing="none").fit(ONE)),
    "fit: floor 0": (ValueError, lambda: HMMTagger(order=1, unknown="floor", floor=0.0).fit(ONE)),
    "fit: a lexicon for a textbook model": (
        ValueError,
        lambda: HMMTagger(unknown="floor").fit(ONE, lexicon={"a": ["A"]}),
    ),
    "fit: order 0 with features of steps": (
        TrainingError,
        lambda: check_templates(0, parse_templates("word[0]\n@ lower[0]")),
    ),
    "fit: order 0 with candidates": (TrainingError, lambda: CRFTagger(order=0, candidates=0.01).fit(ONE)),
    "fit: another tag set for dev": (TrainingError, lambda: CRFTagger().fit(ONE, X_dev=[Sentence(["a"], ["B"])])),
    "fit: a lexicon with an unknown tag": (TrainingError, lambda: HMMTagger().fit(ONE, lexicon={"zig": ["Q"]})),
    "fit: too much memory, hmm": (TrainingError, lambda: too_large(HMMTagger)),
    "fit: too much memory, crf": (TrainingError, lambda: too_large(partial(CRFTagger, threads=1, candidates="all"))),
    "fit: too much memory, crf with candidates": (TrainingError, lambda: too_large(partial(CRFTagger, threads=1))),
    "predict: not fitted": (TaggerError, lambda: CRFTagger().predict([["a"]])),
    "predict: a string": (TypeError, lambda: HMM().fit(ONE).predict("She runs")),
    "tokenize: a number": (TypeError, lambda: tokenize(7, None)),
    "tokenize: a language without rules": (ValueError, lambda: tokenize("She", "klingon")),
    "tag: a list of words": (TypeError, lambda: HMM().fit(ONE).tag(["She", "runs"])),
    "predict_nbest: 1.5 taggings": (TypeError, lambda: HMM().fit(ONE).predict_nbest([["a"]], 1.5)),
    "score: an unknown metric": (ValueError, lambda: CRFTagger().fit(ONE).set_params(metric="f1").score(ONE)),
    "find_spans: an unknown scheme": (ValueError, lambda: find_spans(["B-PER"], "BIO")),
    "tag: -1 taggings": (ValueError, lambda: HMM().fit(ONE).tag("She", nbest=-1)),
    "tag: not fitted": (TaggerError, lambda: CRFTagger().tag("She")),
    "tag_sents: a string": (TypeError, lambda: HMM().fit(ONE).tag_sents("She runs")),
    "pipe: a number": (TypeError, lambda: list(HMM().fit(ONE).pipe(["a", 7]))),
    "pipe: a text without a context": (TypeError, lambda: list(HMM().fit(ONE).pipe(["She"], as_tuples=True))),
    "pipe: one text": (TypeError, lambda: HMM().fit(ONE).pipe("She runs")),
    "pipe: no processes": (ValueError, lambda: HMM().fit(ONE).pipe(["a"], jobs=0)),
    "pipe: empty batches": (ValueError, lambda: HMM().fit(ONE).pipe(["a"], batch_size=0)),
    "CRF: another algorithm": (TrainingError, lambda: CRF(algorithm="ap").fit([[{}]], [["A"]])),
    "CRF: words for dicts": (TypeError, lambda: CRF().fit([["a"]], [["A"]])),
    "CRF: not fitted": (TaggerError, lambda: CRF().predict([[{}]])),
    "set_params: unknown": (ValueError, lambda: HMM().set_params(nonsense=1)),
    "evaluate: fewer lists than sentences": (ValueError, lambda: evaluate(ONE, [])),
    "evaluate: more tags than words": (ValueError, lambda: evaluate(ONE, [["A", "B"]])),
    "evaluate: a string": (TypeError, lambda: evaluate(ONE, "A")),
    "write_corpus: strings": (TypeError, lambda: write_corpus("never.txt", ["She"])),
    "write_corpus: no folder": (FileError, lambda: write_corpus("/none/never.txt", ONE)),
    "read_corpus: no file": (FileError, lambda: read_corpus("/none.txt")),
    "load_model: no file": (ModelError, lambda: load_model("/none.npz")),
    "load_model: a number": (TypeError, lambda: load_model(3)),
    "load_model: nothing": (ModelError, lambda: load_model([])),
    "load_classes: no file": (FileError, lambda: load_classes("/none.npz")),
    "fold_numbers: too few": (TrainingError, lambda: fold_numbers(ONE * 9, 3, 0)),
    "template: unknown function": (TemplateError, lambda: parse_templates("word[0]\nwrod[0]")),
    "template: no number": (TemplateError, lambda: parse_templates("suffix[0]")),
    "template: a number too many": (TemplateError, lambda: parse_templates("word:3[0]")),
    "template: a falling range": (TemplateError, lambda: parse_templates("suffix:4-1[0]")),
    "template: a bracket open": (TemplateError, lambda: parse_templates("word[0")),
    "template: a number without a name": (TemplateError, lambda: parse_templates("number[0]")),
    "template: dicts and words": (TemplateError, lambda: parse_templates("attributes:x & word[0]")),
    "template: a number of steps": (TemplateError, lambda: parse_templates("@ number:x[0]")),
    "template: too far": (TemplateError, lambda: parse_templates("word[1000]")),
    "template: too many parts": (TemplateError, lambda: parse_templates("bias & bias & bias & bias")),
    "template: nothing": (TemplateError, lambda: parse_templates("# only a comment")),
    "template: classes of a range": (TemplateError, lambda: parse_templates("class:32-128[0]")),
    "template: no such name": (TemplateError, lambda: template_text("no-such-template")),
    "map: spaces": (TaggerError, lambda: written(read_tag_map, "NN NOUN\n")),
    "map: nothing": (TaggerError, lambda: written(read_tag_map, "")),
    "vectors: too large": (TaggerError, lambda: written(lambda p: read_vectors(p, {"dog"}, 0), "dog 1e9 2\n")),
    "vectors: none": (TaggerError, lambda: written(lambda p: read_vectors(p, {"dog"}, 0), "")),
    "clusters: no path": (CorpusError, lambda: written(load_classes, "\ta\t1\n")),
    "chain: emissions of one axis": (ValueError, lambda: chain.log_norm(ZERO(3), ZERO((3, 3)))),
    "chain: transitions of another shape": (ValueError, lambda: chain.log_norm(ZERO((5, 3)), ZERO((3, 4)))),
    "chain: lengths beyond": (ValueError, lambda: chain.log_norm(ZERO((2, 5, 3)), ZERO((3, 3)), [3, 6])),
    "chain: lengths that are no numbers": (ValueError, lambda: chain.log_norm(ZERO((2, 5, 3)), ZERO((3, 3)), [1.5, 2])),
}


def prepare(folder):
    """Write the files that commands are tried on."""
    for name, content in FILES.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    corpus = [Sentence(["a", "b"], ["X", "Y"]), Sentence(["b", "a"], ["Y", "X"])]
    save_model(HMMTagger().fit(corpus), folder / "model.npz")
    save_model(CRFTagger(max_iterations=2).fit(corpus), folder / "crf.npz")
    save_model(CRFTagger(max_iterations=2).fit([Sentence(["a", "dog"], ["D", "N"])]), folder / "other.npz")
    (folder / "cut.npz").write_bytes((folder / "model.npz").read_bytes()[:500])
    with np.load(folder / "model.npz") as members:
        arrays = dict(members)
    for name, changes in FORGED.items():
        meta = json.dumps(json.loads(arrays["meta"].tobytes()) | changes).encode()
        np.savez(folder / name, **arrays | {"meta": np.frombuffer(meta, np.uint8)})
    np.savez(folder / "foreign.npz", weights=np.arange(3.0))
    with (folder / "array.npz").open("wb") as stream:
        np.save(stream, np.arange(3.0))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("messages")
    prepare(folder)
    return folder


def contents(folder):
    return {path.name: path.read_bytes() for path in folder.iterdir()}


def refusal(folder, command):
    result = run(folder, *shlex.split(command))
    return result._replace(err=result.err.replace(f"{folder}/", ""))


def remarks(folder, command):
    """The hints and warnings of a command that succeeds; its outputs are removed."""
    before = contents(folder)
    result = run(folder, *shlex.split(command))
    for path in folder.iterdir():
        if path.name not in before:
            path.unlink()
    lines = [line for line in result.err.splitlines() if line.startswith(("hint:", "warning:", "skipped ", "  "))]
    return result.code, "\n".join(lines)


def raised(name):
    kind, call = CALLS[name]
    with pytest.raises(kind) as caught:
        call()
    return f"{type(caught.value).__name__}: {caught.value}"


def golden():
    """The expected text of every case: blocks of its name and the text, with a blank line between."""
    blocks = GOLDEN.read_text("utf-8").strip("\n").split("\n\n") if GOLDEN.exists() else []
    return dict(block.split("\n", 1) for block in blocks)


def check(case, text):
    expected = golden().get(case)
    changes = "\n".join(difflib.ndiff([expected or ""], [text]))
    assert text == expected, f"{case}\n{changes}\nif this is better: python tests/test_messages.py --update"


@pytest.mark.parametrize("command, place", REFUSED.items(), ids=list(REFUSED))
def test_a_refusal_is_one_line_with_a_place_and_leaves_nothing_behind(folder, command, place):
    before = contents(folder)
    result = refusal(folder, command)
    assert result.code == 1 and result.err.startswith("tagger: ") and result.err.count("\n") == 1, result
    assert place in result.err
    assert contents(folder) == before
    check(f"$ tagger {command}", result.err.strip("\n"))


@pytest.mark.parametrize("command", WRONG_USAGE)
def test_wrong_usage_is_named(folder, command):
    before = contents(folder)
    result = refusal(folder, command)
    assert result.code == 2 and result.out == "" and "Traceback" not in result.err
    assert contents(folder) == before
    check(f"$ tagger {command}", result.err.splitlines()[-1])


@pytest.mark.parametrize("command", REMARKS)
def test_hints_and_warnings(folder, command):
    code, text = remarks(folder, command)
    assert code == 0 and text
    check(f"$ tagger {command}", text)


@pytest.mark.parametrize("name", CALLS)
def test_errors_of_the_library(name):
    check(name, raised(name))


def test_the_golden_file_has_every_case_and_no_other():
    commands = [f"$ tagger {command}" for command in [*REFUSED, *WRONG_USAGE, *REMARKS]]
    assert list(golden()) == [*commands, *CALLS]


def update():
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        prepare(folder)
        texts = {f"$ tagger {command}": refusal(folder, command).err.strip("\n") for command in REFUSED}
        texts |= {f"$ tagger {command}": refusal(folder, command).err.splitlines()[-1] for command in WRONG_USAGE}
        texts |= {f"$ tagger {command}": remarks(folder, command)[1] for command in REMARKS}
        texts |= {name: raised(name) for name in CALLS}
    GOLDEN.write_text("\n\n".join(f"{case}\n{text}" for case, text in texts.items()) + "\n", "utf-8")


if __name__ == "__main__":
    if sys.argv[1:] != ["--update"]:
        sys.exit("usage: python tests/test_messages.py --update")
    update()
