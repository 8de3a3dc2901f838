"""The contract of all models: base class, model files, ensembles, explanations, checkpoints."""
