"""Results as text, SVG and HTML."""
