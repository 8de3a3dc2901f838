"""The HMM as textbooks have it: relative frequencies of counts, and a floor in place of zero.

    pi[j]   = count(sentences that begin with tag j) / count(sentences)
    A[i, j] = count(tag i, then tag j) / count(tag i, then any tag)
    B[j, x] = count(word x with tag j) / count(tag j)

There is no end of a sentence, and rows of A and B sum to 1. In scoring, every probability that is 0 becomes the floor;
the tables keep their zeros. Read in this order:

- `settings`: what can be chosen;
- `tables`: pi and A, with or without add-k smoothing;
- `emissions`: B, and what unknown words get;
- `suffixes`: the tags of unknown words from their suffixes (Brants 2000).

The rest of `hmm` is this model with better estimates, which is why both have the same tables, scorers and files. Any
part of either can be exchanged for that of the other: `smoothing` and `unknown` of `HMMTagger`.
"""
