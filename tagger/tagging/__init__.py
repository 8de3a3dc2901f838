"""Tagging text: annotator, fast path, constraints, chunks, worker processes, rendering."""
