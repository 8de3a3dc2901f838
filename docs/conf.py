"""Configuration of the documentation: `make docs` builds it into build/docs, with warnings as errors."""

import sys
from importlib.util import find_spec
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

from tagger.version import __version__  # noqa: E402

project = "tagger"
author = "The tagger developers"
copyright = f"2026, {author}"
version = release = __version__

extensions = ["myst_parser", "sphinx.ext.autodoc", "sphinx.ext.napoleon", "sphinx_click"]

# Pages are Markdown. Links go to files and headings of other pages, and Sphinx checks them.
myst_heading_anchors = 3
myst_enable_extensions = ["colon_fence", "deflist"]

# The API pages list public names of the package `tagger`, wherever in it they are defined.
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
autodoc_preserve_defaults = True
autodoc_mock_imports = [] if find_spec("torch") else ["torch"]  # the pages of neural networks need no PyTorch
maximum_signature_line_length = 88
# Docstrings are in numpydoc form; in prose, `name` is code.
napoleon_google_docstring = False
napoleon_numpy_docstring = True
napoleon_use_ivar = True
napoleon_use_rtype = False
default_role = "literal"
add_module_names = False

# Every reference to a name of ours must lead somewhere. Those of other projects would need the network.
nitpicky = True
nitpick_ignore_regex = [("py:.*", r"(?!tagger\.(\w+|chain\.\w+|neural\.CRF)$).*")]

smartquotes = False  # --option stays --option

# Nothing is fetched when the pages are built or read: fonts are those of the system, formulas are text.
html_theme = "furo"
html_title = f"tagger {release}"
html_static_path = ["_static"]
html_css_files = ["tagger.css"]
html_show_sphinx = False
html_copy_source = False
pygments_style = "default"
pygments_dark_style = "monokai"
exclude_patterns = ["_static"]


def examples_as_code(app, context, lines):
    """Show the examples that end the help of a command as a block of code."""
    title, *examples = (context.command.epilog or "").replace("\b\n", "").strip().split("\n")
    if examples:
        lines[:] = [
            f".. rubric:: {title.rstrip(':')}",
            "",
            ".. code-block:: sh",
            "",
            *(f"   {line}" for line in examples),
            "",
        ]


def setup(app):
    app.connect("sphinx-click-process-epilog", examples_as_code)
