"""The hidden Markov model."""
