"""Many trainings: cross-validation, search for settings, checks of a corpus."""
