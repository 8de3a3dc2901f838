"""The parts of `eval`: `systems` (models and files of predictions, compared with the gold corpus) and `warnings`."""
