"""All that an HMM counts, as objects that can be merged.

Read in this order:

- `tagged_text`: tagged sentences as numbers;
- `counts`: words, tags, bigrams and trigrams of a text, which add up over texts;
- `frequent`: the tags before and after frequent words, which are known only when all texts are counted.

The idea: training is "count, then estimate". Counts are whole numbers under sorted keys, so that a corpus counted part
by part and merged, in any order, gives the same model as one that is counted at once.
"""
