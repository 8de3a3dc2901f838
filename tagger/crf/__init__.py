"""The conditional random field: encoding, training with L-BFGS, scoring.

Read in this order:

- `tagger`: `CRFTagger`, the estimator; `settings` checks it, `model_arrays` goes to and from its file, `summary` and
  `terms` serve `tagger inspect` and `tagger explain`;
- `encode`: from tagged sentences to an encoded corpus;
- `parameters`: the encoded corpus, and the layout of the parameter vector;
- `score_tables`: from weights to emission scores and back to gradients;
- `objective`: the penalised log-likelihood and its gradient;
- `lbfgs`: the optimiser, for any function;
- `trainer`: warm-up on parts of the corpus, then all of it;
- `warm_start`: continue from an existing model on a new corpus;
- `scorer`: emission scores of new text; `few_tokens`: the same for a sentence, all templates together;
- `candidates`, `trigrams`: the same over the candidate tags that an HMM proposes, of first or second order.

The idea: scores are computed once per distinct word and gathered; the gradient flows back the same way.
"""
