"""Arrays without linguistics: model archives, ragged rows, keyed sums, tables of strings."""
