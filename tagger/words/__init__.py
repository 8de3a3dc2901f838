"""Words of a corpus: vocabulary, windows, lexicon, cache, overlap with the training text."""
