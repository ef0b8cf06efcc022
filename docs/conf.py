"""The documentation site: `make docs`."""

from __future__ import annotations

import re
import sys
from importlib import metadata
from pathlib import Path

from docutils import nodes
from sphinx.application import Sphinx

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
]
exclude_patterns = ["_build", "example", "example-run", "example-repository"]
html_theme = "furo"
html_title = "pytest-tablebench"
html_static_path = ["_static"]
html_css_files = ["site.css"]
pygments_dark_style = "github-dark"  # the theme's own underlines every name of a module
myst_heading_anchors = 3
smartquotes = False  # two dashes of an option are no dash of a sentence
# Links to files of the repository that are no pages of the site.
suppress_warnings = ["myst.xref_missing", "toc.not_included"]
autodoc_member_order = "bysource"
autodoc_typehints_format = "short"
typehints_use_signature = True
always_use_bars_union = True
nitpicky = False


REPOSITORY = f"https://github.com/{PLACEHOLDER}/pytest-tablebench/blob/main/"


def prepare(_app: Sphinx, _page: str, source: list[str]) -> None:
    """Link to the repository for files that are no pages, and name the owner of pyproject.toml."""
    linked = source[0].replace("](../", f"]({REPOSITORY}")
    source[0] = re.sub(rf"\b{PLACEHOLDER}\b", owner(), linked)


def write_llms(app: Sphinx, error: Exception | None) -> None:
    """Write a list of the pages with their first sentences, for models that read the site."""
    if error is not None or app.builder.format != "html":
        return
    lines = ["# pytest-tablebench", ""]
    for name in sorted(app.env.found_docs):
        title = app.env.titles[name].astext()
        paragraphs = app.env.get_doctree(name).findall(nodes.paragraph)
        first = next((paragraph.astext() for paragraph in paragraphs), "")
        lines.append(f"- [{title}]({name}.html): {' '.join(first.split())[:200]}")
    (Path(app.outdir) / "llms.txt").write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> None:
    """Register both."""
    app.connect("source-read", prepare)
    app.connect("build-finished", write_llms)
