"""Experiments that train many models on one corpus.

Read in this order:

- `crossval`: cross-validation and learning curves;
- `search`: coordinate search over the settings of a CRF;
- `trials`: the trainings of that search, on a corpus encoded once;
- `fold_likelihood`: their objective, in which one fold can be left out;
- `corpus_check`: annotations that are inconsistent, or that a model trained on the rest disagrees with.

The idea: a `TaggerFactory` makes untrained taggers, so that every experiment runs with every kind of model.
"""
