"""spaCy: the pipeline component `hmm_crf_tagger`, which spaCy finds by its entry point.

A model with universal tags sets `pos_`. Any other sets `tag_`, and `pos_`, too, if its tags are those of the Penn
Treebank. White space, which is a token in spaCy and no word here, gets `_SP` and `SPACE`. Sentences are those of the
document if an earlier component has set them; else the document is one sentence.
"""

from __future__ import annotations

import tempfile
from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import minibatch

from tagger.errors import TaggerError
from tagger.models.base import Tagger
from tagger.models.store import load_model, save_model

FACTORY = "hmm_crf_tagger"
FILE = "model.npz"  # in the folder of the component
SPACE_TAG, SPACE = "_SP", "SPACE"
UNIVERSAL = {
    "ADJ": "JJ JJR JJS",
    "ADP": "IN RP",
    "ADV": "RB RBR RBS WRB",
    "AUX": "MD",
    "CCONJ": "CC",
    "DET": "DT PDT",
    "INTJ": "UH",
    "NOUN": "NN NNS",
    "NUM": "CD",
    "PART": "POS TO",
    "PRON": "EX PRP PRP$ WDT WP WP$",
    "PROPN": "NNP NNPS",
    "PUNCT": "'' `` , . : -LRB- -RRB- ( ) HYPH NFP",
    "SCONJ": "",
    "SYM": "$ # SYM",
    "VERB": "VB VBD VBG VBN VBP VBZ",
    "X": "ADD AFX FW GW LS",
}  # universal tags with those of the Penn Treebank that they stand for in most cases
PENN = {tag: universal for universal, tags in UNIVERSAL.items() for tag in tags.split()}


class TaggerComponent:
    """A model as a component of a spaCy pipeline.

    A model that is named by its path is loaded on first use: a pipeline from disk has its own copy, and needs no file
    of that path.
    """

    def __init__(self, model: Tagger | str, name: str = FACTORY) -> None:
        self.name = name
        self.path = model if isinstance(model, str) else None
        if isinstance(model, Tagger):
            self.use(model)

    @cached_property
    def predictor(self) -> Tagger:
        """The model. An attribute `model` would be looked at, and loaded, when spaCy looks for networks."""
        return load_model(self.path or "")

    def use(self, model: Tagger) -> None:
        """Set the model."""
        self.predictor = model

    @property
    def universal(self) -> bool:
        """Whether the tags are universal ones."""
        return set(self.predictor.classes_) <= UNIVERSAL.keys()

    @property
    def penn(self) -> bool:
        """Whether the tags are those of the Penn Treebank, most of them."""
        tags = self.predictor.classes_
        return not self.universal and sum(tag in PENN for tag in tags) * 2 > len(tags)

    def __call__(self, doc: Doc) -> Doc:
        """Tag a document in place."""
        return next(self.tagged([doc]))

    def pipe(self, stream: Iterable[Doc], batch_size: int = 128) -> Iterator[Doc]:
        """Tag a stream of documents, `batch_size` of them together."""
        for batch in minibatch(stream, batch_size):
            yield from self.tagged(batch)

    def tagged(self, docs: Sequence[Doc]) -> Iterator[Doc]:
        """Tag documents together and yield them."""
        sentences = [[token for token in sentence if not token.is_space] for doc in docs for sentence in parts(doc)]
        universal, penn = self.universal, self.penn
        tags = self.predictor.predict([[token.text for token in sentence] for sentence in sentences])
        for doc in docs:
            for token in doc:
                if token.is_space:
                    token.tag_, token.pos_ = SPACE_TAG, SPACE
        for sentence, of_sentence in zip(sentences, tags, strict=True):
            for token, tag in zip(sentence, of_sentence, strict=True):
                if universal:
                    token.pos_ = tag
                else:
                    token.tag_ = tag
                if penn:
                    token.pos_ = PENN.get(tag, "X")
        yield from docs

    def to_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> None:
        """Write the model into the folder of the component."""
        folder = Path(path)
        folder.mkdir(parents=True, exist_ok=True)
        save_model(self.predictor, folder / FILE)

    def from_disk(self, path: str | Path, *, exclude: Sequence[str] = ()) -> TaggerComponent:
        """Read the model from the folder of the component."""
        self.use(load_model(Path(path) / FILE))
        return self

    def to_bytes(self, *, exclude: Sequence[str] = ()) -> bytes:
        """Return the model file as bytes."""
        with tempfile.TemporaryDirectory() as folder:
            self.to_disk(folder)
            return (Path(folder) / FILE).read_bytes()

    def from_bytes(self, data: bytes, *, exclude: Sequence[str] = ()) -> TaggerComponent:
        """Read the model from the bytes of its file."""
        with tempfile.TemporaryDirectory() as folder:
            (Path(folder) / FILE).write_bytes(data)
            return self.from_disk(folder)


def parts(doc: Doc) -> Iterable[Doc | Span]:
    """Return the sentences of a document, or the document if it is not split."""
    return doc.sents if doc.has_annotation("SENT_START") else [doc]


@Language.factory(FACTORY, default_config={"model": "english"}, assigns=["token.tag", "token.pos"])
def make_component(nlp: Language, name: str, model: Any) -> TaggerComponent:
    """Make the component; `model` is the path or name of a model."""
    if not isinstance(model, str):
        raise TaggerError(f"model: expected the path or name of a model, got {model!r}.")
    return TaggerComponent(model, name)
