"""Results for people: text, SVG pictures, HTML pages.

Read in this order:

- `text`: evaluations and comparisons as tables and sentences, and as JSON;
- `svg`: small charts without a plotting library;
- `html`: what all pages share (Jinja2, extra `report`); the pages' templates are in `templates/`;
- `evaluation`, `explanation`, `model`, `curve`: one page each.

The idea: a page is one file without scripts from elsewhere; words are escaped text, never markup.
"""
