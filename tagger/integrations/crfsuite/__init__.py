"""`sklearn_crfsuite.CRF`, trained and decoded by `CRFTagger`: change the import, and nothing else.

- `estimator`: the class `CRF`;
- `training`: the tagger behind it, with CRFsuite's choice of parameters, and the log of a training;
- `fitted`: what `tagger_` offers: labels, tags, probabilities, weights;
- `metrics`: the functions of `sklearn_crfsuite.metrics`.

The idea: CRFsuite's model is a linear chain over features with values, without weights for the ends of sentences. So
it is a `CRFTagger` on dicts of features with another `Selection` of parameters.
"""

from tagger.integrations.crfsuite.estimator import CRF

__all__ = ["CRF"]
