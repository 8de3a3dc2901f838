"""The conditional random field."""
