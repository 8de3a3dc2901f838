"""Gold tags against predicted tags.

Read in this order:

- `metrics`: accuracy, precision, recall, F1, confusions, comparison of two taggers; the only place that scores;
- `spans`: precision, recall and F1 of spans, for names and chunks;
- `span_errors`: spans missed, invented, of the wrong type or with a wrong border;
- `significance`: confidence intervals and the permutation test;
- `breakdown`: accuracy by word frequency, sentence length and confidence;
- `calibration`: accuracy against confidence, the reliability table;
- `error_sample`: a representative sample of errors when there are too many to show;
- `score_table`: the scores of an evaluation as a data frame, LaTeX or CSV.

The idea: one ruler for dev sets in training, `eval` and cross-validation. A tag unseen in training counts as an error.
"""
