"""Features of a CRF: functions of a word, templates, encoder, tag parts, word classes."""
