"""The site: ``./dev docs`` builds it. Pages are executed and pictures drawn before it is written."""

import sys
from pathlib import Path

HERE = Path(__file__).parent
sys.path[:0] = [str(HERE), str(HERE.parent / "src")]

from incrowd.version import __version__  # noqa: E402

project, author, release = "incrowd", "the incrowd authors", __version__
extensions = ["myst_parser", "sphinx.ext.autodoc", "numpydoc"]
root_doc = "index"
exclude_patterns = ["generated/*.md", "results/quick", "results/README.md", "_build"]
html_theme = "pydata_sphinx_theme"
html_title = "incrowd"
html_theme_options = {"show_prev_next": False, "navigation_with_keys": False, "navbar_align": "left"}
html_show_sourcelink = False
html_show_copyright = False
myst_heading_anchors = 4
numpydoc_show_class_members = False
autodoc_member_order = "bysource"
autodoc_typehints = "none"  # signatures would repeat what numpydoc lists
default_role = "code"  # `name` in docstrings is a name
suppress_warnings = ["myst.header", "toc.not_included", "misc.highlighting_failure"]  # reports begin at their own level
highlight_language = "none"


def _prepare(_app):
    from site_pages import executed, measured, methods, reference

    generated = HERE / "generated"
    generated.mkdir(exist_ok=True)
    methods.write(generated)
    measured.write(generated)
    reference.write(HERE)
    executed.check(HERE)


def setup(app):
    """Make what pages include, and run what they show, before they are read."""
    app.connect("builder-inited", _prepare)
