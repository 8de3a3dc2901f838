"""The methods `tag`, `tag_sents` and `pipe` that every model offers; `tagging.pipeline` does the work."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from tagger.sentence import Sentence


class TextMethods:
    """Methods of a model that take texts, or sentences as words, and return tagged Sentences."""

    def tag(self, text: str, *, probabilities: bool = False, nbest: int = 0) -> list[Sentence]:
        """Split a text into sentences and words, and tag them.

        The text is split by the model's tokenizer (`tokenizer_`). Without one, a line is a sentence, and spaces
        separate words.

        Parameters
        ----------
        text : str
        probabilities : bool, default False
            Compute the probability of each tag, too.
        nbest : int, default 0
            Find so many best taggings of each sentence, too.

        Returns
        -------
        list of Sentence
            Each has `words`, `tags`, and the `offsets` of its words in the text; `probabilities` and `nbest` if asked
            for. `spans` are the spans that its tags mark.

        Examples
        --------
        >>> from tagger import load_model
        >>> for sentence in load_model("english").tag("She left. Why?"):
        ...     print(list(zip(sentence.words, sentence.tags)))
        [('She', 'PRP'), ('left', 'VBD'), ('.', '.')]
        [('Why', 'WRB'), ('?', '.')]
        """
        from tagger.tagging.pipeline import tag_text

        return tag_text(self, text, probabilities, nbest)  # type: ignore[arg-type]

    def tag_sents(self, sentences: Iterable[Any], *, probabilities: bool = False, nbest: int = 0) -> list[Sentence]:
        """Tag sentences that are split into words.

        Parameters
        ----------
        sentences : iterable of Sentence or of word lists
        probabilities, nbest
            As in `tag`.

        Returns
        -------
        list of Sentence
            The sentences with tags; a given Sentence keeps its other attributes.
        """
        from tagger.tagging.pipeline import tag_sentences

        return tag_sentences(self, sentences, probabilities, nbest)  # type: ignore[arg-type]

    def pipe(
        self,
        texts: Iterable[Any],
        *,
        as_tuples: bool = False,
        batch_size: int = 1000,
        jobs: int = 1,
        probabilities: bool = False,
        nbest: int = 0,
    ) -> Iterator[Any]:
        """Tag a stream of texts, in order and in constant memory.

        Parameters
        ----------
        texts : iterable of str, or of Sentence or word lists
            A word list is tagged as one sentence.
        as_tuples : bool, default False
            The stream has pairs of a text and its context, such as an id; so have the results.
        batch_size : int, default 1000
            Texts that are read and tagged together; fewer if they are long. 1 answers each text before the next one is
            read.
        jobs : int, default 1
            Processes that tag batches. They are forked on Linux, unless `multiprocessing.set_start_method` was called,
            and spawned elsewhere.
        probabilities, nbest
            As in `tag`.

        Yields
        ------
        list of Sentence, or Sentence
            The result of `tag` for a text; the tagged Sentence for a list of words. With `as_tuples`, pairs of that and
            the context.

        Examples
        --------
        >>> texts = [("She left.", 17), ("Why?", 18)]
        >>> for sentences, number in model.pipe(texts, as_tuples=True):
        ...     print(number, [sentence.tags for sentence in sentences])
        """
        from tagger.tagging.pipeline import pipe

        return pipe(self, texts, as_tuples, batch_size, jobs, probabilities, nbest)  # type: ignore[arg-type]
