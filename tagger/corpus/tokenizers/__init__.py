"""Split raw text into sentences of words.

- `segmenter`: read text in constant memory, and yield sentences with character offsets;
- `tokenize`: the function of that name, for a text in memory;
- `records`: texts inside JSON Lines and CoNLL-U;
- `english`: words and sentence ends in the manner of the English Web Treebank;
- `chinese`: words by jieba (extra `chinese`), sentences by final marks.

The idea: a language is a module with a pattern `PIECE` of stretches that are tokenized separately, `words(piece)`, and
`ends(words, following)`; `segmenter` does the rest. To add a language, write such a module and add its name here.
"""

TOKENIZERS = ("english", "chinese")  # the modules of languages
