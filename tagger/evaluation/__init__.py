"""Gold tags against guessed tags: metrics, significance, breakdowns, samples of errors."""
