"""The base of all models: estimator, model file, ensembles, explanations, checkpoints.

Read in this order:

- `text_methods`: the methods from text to tags, `tag`, `tag_sents` and `pipe`;
- `predictor`: predict, n-best, marginals and score, written once on a `Lattice`;
- `estimator`: settings and scikit-learn's conventions;
- `base`: `Tagger`, the contract: learning, storing, explaining;
- `store`: save and load a model as `.npz`, without pickle;
- `card`: model cards, the words of an author about a model;
- `ensemble`: several models as one by the mean of their marginals;
- `sentence_results`: the results of lattices as lists with one item per sentence;
- `trellis`, `trellis_view`: all numbers of the recursions for one sentence;
- `explain`: why a token got its tag, as terms that add up to a score difference;
- `summary`, `labeled`: tables about a model, and of its parameters, for `tagger inspect`;
- `monitor`: dev scores, early stopping and callbacks during training;
- `checkpoint`: the state of a training on disk.

The idea: a model learns (`fit`) and fills a lattice (`scorer`); everything else is here and free for a new model.
"""
