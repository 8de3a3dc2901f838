"""Raw text to sentences of words."""
