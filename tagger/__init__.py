"""Learn part-of-speech taggers from word/TAG corpora.

>>> from tagger import CRFTagger, read_corpus
>>> model = CRFTagger(max_iterations=50).fit(read_corpus("corpus.txt"))
>>> model.predict([["The", "dog", "barks", "."]])
"""

from tagger.corpus import read_corpus, write_corpus
from tagger.crf import CRFTagger
from tagger.errors import TaggerError
from tagger.hmm import HMMTagger
from tagger.metrics import evaluate
from tagger.sentence import Sentence
from tagger.store import load_model, save_model
from tagger.version import __version__

__all__ = [
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
