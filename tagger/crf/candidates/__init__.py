"""CRFs of first and second order over the candidate tags that an HMM proposes.

Read in this order:

- `proposal`: the candidates of each token, for training by HMMs of the other folds;
- `node_tables`, `objective`: scores of nodes (a token with a candidate), and the loss of the pieces between fixed
  tokens, with its gradient;
- `scorer`, `node_scorer`: lattices for new text; `single`: weights for one sentence at a time;
- `own_candidates`: lattices of a CRF over all tags in a mean with an HMM.

The idea to understand: most tokens have one candidate and are fixed. Only the others get scores, and the short pieces
of sentences that they form are independent of each other (`chain.candidates`).
"""
