"""The hidden Markov model of first or second order: counting, smoothing, guessing unknown words.

Read in this order:

- `tagger`: `HMMTagger`, the estimator;
- `counting`: what is counted of a text, as objects that can be merged;
- `transitions`: P(tag | two tags before), smoothed by deleted interpolation;
- `lexicalized`: transitions and emissions that look at frequent words too;
- `emissions`: P(word | tag) of known and unknown words (`word_tags` has word forms and sparse tables);
- `guesser`: tags of unknown words from their spelling (`affixes` has the keys, `spelling_levels` the counts under them,
  `opinion_pool` the combination, `sparse_guess` the same for large tag sets);
- `smoothing`: the Dirichlet smoothing used by `lexicalized` and `guesser`;
- `scorer`: lattices of new text, and the terms of a path's score; `single`: what one sentence at a time needs;
- `em`: Baum–Welch for partly tagged text;
- `summary`: what `tagger inspect` prints; `model_arrays`: those of a model file;
- `textbook`: relative frequencies with a floor instead of all that, for `smoothing` and `unknown`.

The idea: count, then estimate; the only search is for a few smoothing constants, by leaving one out.
"""
