"""The conditional random field: encoding, training with L-BFGS, scoring.

Read in this order:

- `tagger`: `CRFTagger`, the estimator;
- `parameters`: the tagged corpus as numbers, and where each weight lives;
- `score_tables`: from weights to emission scores and back to gradients;
- `objective`: the penalised log-likelihood and its gradient;
- `lbfgs`: the optimiser (knows no linguistics);
- `trainer`: warm-up on parts of the corpus, then all of it;
- `warm_start`: go on from an existing model on a new corpus;
- `scorer`: emission scores of new text;
- `summary`: what `tagger inspect` prints.

The idea: scores are computed once per distinct word and gathered; the gradient flows back the same way.
"""
