"""The documentation site: `make docs`."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from sphinx.application import Sphinx

sys.path.insert(0, str(Path(__file__).parent / "_ext"))
sys.path.insert(0, str(Path(__file__).parents[1] / ".ci"))

from project import PLACEHOLDER, owner

project = "pytest-tablebench"
author = "the pytest-tablebench developers"
version = release = metadata.version("pytest-tablebench")
extensions = [
    "myst_parser",
    "sphinx.ext.autodoc",
    "sphinx.ext.napoleon",
    "sphinx_autodoc_typehints",
    "tablebench_reference",
]
exclude_patterns = ["_build", "example", "example-run", "example-repository"]
html_theme = "furo"
html_title = "pytest-tablebench"
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"  # the theme's own underlines every name of a module
myst_enable_extensions = ["deflist"]
myst_heading_anchors = 3
smartquotes = False  # two dashes of an option are no dash of a sentence
# Links to files of the repository that are no pages of the site.
suppress_warnings = ["myst.xref_missing", "toc.not_included"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
typehints_use_signature = True
always_use_bars_union = True
nitpicky = False


def name_owner(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Replace the placeholder by the owner that pyproject.toml names."""
    source[0] = re.sub(rf"\b{PLACEHOLDER}\b", owner(), source[0])


def setup(app: Sphinx) -> None:
    """Register the replacement."""
    app.connect("source-read", name_owner)
