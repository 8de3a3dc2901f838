"""Part-of-speech taggers learned from word/TAG corpora: HMM, CRF and BiLSTM.

The public names are listed in `__all__`. Each is imported from its module on first use, so that the command line starts
without NumPy. The packages below, from data to commands: `files`, `arrays`, `corpus`, `words`, `chain` (the dynamic
programs), `features`, `models`, `hmm`, `crf`, `neural`, `evaluation`, `tagging`, `experiments`, `reports`, `cli`.
Modules that all of them may use: `sentence`, `errors`, `escaping`, `normalization`,
`version`.

>>> from tagger import CRFTagger, read_corpus
>>> model = CRFTagger(max_iterations=50).fit(read_corpus("corpus.txt"))
>>> model.predict([["The", "dog", "barks", "."]])
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from tagger.version import __version__

if TYPE_CHECKING:
    from tagger import chain
    from tagger.corpus import read_corpus, write_corpus
    from tagger.corpus.span_schemes import find_spans, recognize_scheme
    from tagger.corpus.tokenizers.tokenize import tokenize
    from tagger.crf.tagger import CRFTagger
    from tagger.errors import TaggerError
    from tagger.evaluation.metrics import evaluate
    from tagger.evaluation.spans import evaluate_spans
    from tagger.hmm.tagger import HMMTagger
    from tagger.models.store import load_model, save_model
    from tagger.neural.tagger import BiLSTMTagger
    from tagger.pooled.tagger import PooledTagger
    from tagger.sentence import Sentence

__all__ = [
    "BiLSTMTagger",
    "CRFTagger",
    "HMMTagger",
    "PooledTagger",
    "Sentence",
    "TaggerError",
    "__version__",
    "chain",
    "evaluate",
    "evaluate_spans",
    "find_spans",
    "load_model",
    "read_corpus",
    "recognize_scheme",
    "save_model",
    "tokenize",
    "write_corpus",
]

MODULES = {  # where each public name is defined
    "BiLSTMTagger": "neural.tagger",
    "CRFTagger": "crf.tagger",
    "HMMTagger": "hmm.tagger",
    "PooledTagger": "pooled.tagger",
    "Sentence": "sentence",
    "TaggerError": "errors",
    "evaluate": "evaluation.metrics",
    "evaluate_spans": "evaluation.spans",
    "find_spans": "corpus.span_schemes",
    "load_model": "models.store",
    "read_corpus": "corpus",
    "recognize_scheme": "corpus.span_schemes",
    "save_model": "models.store",
    "tokenize": "corpus.tokenizers.tokenize",
    "write_corpus": "corpus",
}


def __getattr__(name: str) -> Any:
    if name == "chain":  # a package of functions on arrays
        return import_module("tagger.chain")
    if name not in MODULES:
        raise AttributeError(f"module 'tagger' has no attribute {name!r}")
    return getattr(import_module(f"tagger.{MODULES[name]}"), name)


def __dir__() -> list[str]:
    return __all__
