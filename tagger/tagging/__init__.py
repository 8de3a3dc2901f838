"""Tagging text as a stream of blocks.

Read in this order:

- `annotator`: tags, probabilities and n-best taggings for a block of sentences;
- `pipeline`: `tag`, `tag_sents` and `pipe` of every model;
- `fast_path`: plain lines to word/TAG lines, without a `Sentence` object;
- `constraints`: tags that a user allows or has given already;
- `blocks`: sentences in blocks, early when the input pauses;
- `workers`: blocks on several processes, results in order;
- `inputs`: text of any format in blocks, with the place of each;
- `render`: tagged blocks as bytes of the output format;
- `text_job`: reader, annotator and renderer of a run as one object;
- `doubtful`: the sentences that a model is least sure of;
- `folder`: many files into a folder, without doing finished ones again; `pieces`: large files by parts.

The idea: block borders depend on the input only, so the output is the same for any number of processes.
"""
