"""Raw text to sentences of words.

- `segmenter`: read text piece by piece in constant memory, and yield sentences with character offsets;
- `english`: words and sentence ends in the manner of the English Web Treebank;
- `chinese`: words by jieba (extra `chinese`), sentences by final marks.

The idea: a language is a module with `words(text)` and `ends(words)`; `segmenter` does the rest.
"""
