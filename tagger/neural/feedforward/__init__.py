"""A small feed-forward network over windows of words, trained in NumPy, without PyTorch.

Read in this order:

- `word_features`: the rows of a table that stand for a word: its spelling at several lengths;
- `network`: from sentences to the probability of each tag of each token;
- `gradient`: the loss of a batch and its gradient, formula above code;
- `training`: batches, dropout, Adam, the average of the last epochs.

The idea to understand: the input of a word is a sum of rows, those of its features and that of its vector from raw
text. Words that are spelt or used alike get similar sums, and the hidden layers combine those of seven neighbouring
words in ways that a log-linear model has no features for (Collobert et al. 2011; Botha et al. 2017).
"""
