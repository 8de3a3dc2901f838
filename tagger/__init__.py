"""Learn part-of-speech taggers from word/TAG corpora.

The names below are imported when they are first used, so that the command line starts at once.

>>> from tagger import CRFTagger, read_corpus
>>> model = CRFTagger(max_iterations=50).fit(read_corpus("corpus.txt"))
>>> model.predict([["The", "dog", "barks", "."]])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagger.version import __version__

if TYPE_CHECKING:
    from tagger.corpus import read_corpus, write_corpus
    from tagger.crf import CRFTagger
    from tagger.errors import TaggerError
    from tagger.hmm import HMMTagger
    from tagger.metrics import evaluate
    from tagger.neural.bilstm import BiLSTMTagger
    from tagger.sentence import Sentence
    from tagger.store import load_model, save_model

__all__ = [
    "BiLSTMTagger",
    "CRFTagger",
    "HMMTagger",
    "Sentence",
    "TaggerError",
    "__version__",
    "evaluate",
    "load_model",
    "read_corpus",
    "save_model",
    "write_corpus",
]

HOMES = {
    "BiLSTMTagger": "neural.bilstm",
    "CRFTagger": "crf",
    "HMMTagger": "hmm",
    "Sentence": "sentence",
    "TaggerError": "errors",
    "evaluate": "metrics",
    "load_model": "store",
    "read_corpus": "corpus",
    "save_model": "store",
    "write_corpus": "corpus",
}


def __getattr__(name: str) -> Any:
    if name not in HOMES:
        raise AttributeError(f"module 'tagger' has no attribute {name!r}")
    return getattr(import_module(f"tagger.{HOMES[name]}"), name)
