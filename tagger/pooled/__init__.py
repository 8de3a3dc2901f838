"""HMM and CRF as one model: a log-linear pool of their opinions over candidate tags.

Read in this order:

- `tagger`: `PooledTagger`, a CRF over candidates whose HMM has a vote of its own;
- `trainer`: trains without some sentences first, and learns on those how much each member is worth;
- `held_out`: an encoded corpus as if some sentences had never been there;
- `opinion_weights`: the weights of the pool, and how often the right tag is a candidate;
- `network_opinion`: a feed-forward network as a member, if there is raw text;
- `lattice`: probabilities that leave room for tags that are no candidates, and opinions of other models;
- `members`: these models in the model file and in explanations.

The idea to understand: an HMM and a CRF err in different places. The weights of the pool are a few numbers, learned on
sentences that neither has seen. They multiply the scores of the CRF, so that the pool is a chain like any other.
"""
