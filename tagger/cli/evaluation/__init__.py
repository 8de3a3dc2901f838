"""The parts of `eval`: `sides` (the models and files that are compared with the gold corpus) and `warnings`."""
