"""Array containers that models consist of and are stored in; nothing in them is about language.

Read in this order:

- `npz`: named arrays in a model file, checked as they are taken out;
- `ragged`: rows of different lengths in one flat array;
- `keyed`: counts, sums and values under sorted whole-number keys;
- `string_spans`: many strings as spans of one text, cut and hashed without copying;
- `hash_index`: find numbers by their hashes;
- `string_table`: an immutable set of strings, stored as one UTF-8 blob;
- `caching`: cached attributes, without locks;
- `thread_turns`: objects that serve one thread at a time, and turns.

The idea: one NumPy operation handles a whole corpus or vocabulary at once; no Python object per token.
"""
