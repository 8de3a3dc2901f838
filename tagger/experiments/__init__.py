"""Many trainings on one corpus.

Read in this order:

- `crossval`: cross-validation and learning curves;
- `search`: a walk from setting to setting, always on from the best;
- `trials`: the trainings that such a walk needs, on a corpus encoded once;
- `corpus_check`: annotations that contradict each other or a model trained on the rest.

The idea: a `TaggerFactory` makes untrained taggers, so that every experiment runs with every kind of model.
"""
