"""The public functions of `tagger.chain`, on padded arrays.

Read in this order:

- `batch`: the arrays (B, T, …) of other libraries as packed steps, and back;
- `scores`: the score of a given path, and its two parts;
- `sums`: forward, backward, log Z, the marginals of tags and of pairs of tags;
- `paths`: the table of Viterbi, the best path, the n best paths;
- `likelihood`: log-likelihood, its gradient, and a check of gradients.

The idea: a function makes a `PaddedBatch`, calls the recursion that all models use, and pads the result.
"""
