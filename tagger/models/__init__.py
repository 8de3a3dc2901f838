"""The base of all models: estimator, model file, ensembles, explanations, checkpoints.

Read in this order:

- `base`: `Tagger`, the contract; predict, n-best, marginals and score, written once on a `Lattice`;
- `store`: save and load a model as `.npz`, without pickle;
- `card`: model cards, the words of an author about a model;
- `ensemble`: several models as one by the mean of their marginals;
- `explain`: why a token got its tag, as terms that add up to a score difference;
- `summary`: tables about a model, for `tagger inspect`;
- `monitor`: dev scores, early stopping and callbacks during training;
- `checkpoint`: the state of a training on disk.

The idea: a model learns (`fit`) and fills a lattice (`scorer`); everything else is here and free for a new model.
"""
