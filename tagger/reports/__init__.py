"""Results as text, SVG charts and HTML pages.

Read in this order:

- `text`: evaluations and comparisons as tables and sentences, and as JSON;
- `svg`: bar charts and calibration plots, and the shapes that charts are made of;
- `html`: the Jinja2 environment of all pages (extra `report`); the templates are in `templates/`;
- `evaluation_page`, `explanation_page`, `model_page`, `curve_page`: one page each;
- `span_section`: the spans on the page of an evaluation;
- `trellis`, `trellis_page`: the recursions of a sentence as text, TSV and JSON, and as a page;
- `figures`: confusions and learning curves as SVG files for papers;
- `notebook`: objects as HTML in a notebook.

The idea: a page is one file that loads nothing from elsewhere; words are escaped text, never markup.
"""
