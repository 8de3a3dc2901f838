"""Words of a corpus as integer ids, and what is stored per word.

Read in this order:

- `vocabulary`: assign ids to strings in the order of their first occurrence;
- `windows`: sentences as ids of their distinct words, neighbours one addition away;
- `lexicon`: the words of the training corpus with their tag counts (which words are *known*, which *ambiguous*);
- `cache`: values computed for a word, kept for its next occurrence up to a memory limit;
- `overlap`: sentences of a text that were in the training corpus.

The idea: text repeats its words, so everything is computed once per distinct word and gathered by id.
"""
