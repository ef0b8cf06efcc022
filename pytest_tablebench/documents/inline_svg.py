"""Figures of matplotlib for a page, coloured by its style sheet.

The page's policy forbids style attributes, and these could not follow a dark theme. So styles
become presentation attributes, and the style sheet replaces each colour.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path

from pytest_tablebench.documents._canvas import Plot

_STYLE = re.compile(r' style="([^"<>]*)"')
_KEPT = {
    "fill",
    "fill-opacity",
    "fill-rule",
    "font-size",
    "opacity",
    "stroke",
    "stroke-dasharray",
    "stroke-dashoffset",
    "stroke-linecap",
    "stroke-linejoin",
    "stroke-opacity",
    "stroke-width",
    "text-anchor",
}


def inline_svg(source: str, *, sized: bool = False) -> str:
    """Return matplotlib's SVG as an element that the page's policy allows.

    With `sized` it keeps its width, else it is as wide as its card.
    """
    body = source[source.index("<svg") :]
    body = re.sub(r"<metadata>.*?</metadata>|<style[^>]*>.*?</style>", "", body, flags=re.S)
    size = r'\1 width="\2"' if sized else r"\1"
    body = re.sub(r'(<svg[^>]*?) width="([\d.]*)[^"]*" height="[^"]*"', size, body, count=1)
    body = re.sub(r' id="(?:figure|patch|axes|text|line2d|xtick|ytick|legend)_\d+"', "", body)
    return _STYLE.sub(_attributes, body).replace("\n", " ").strip()


def _attributes(style: re.Match[str]) -> str:
    pairs = (entry.partition(":") for entry in style[1].split(";"))
    properties = [(name.strip(), value.strip()) for name, _, value in pairs]
    return "".join(f' {name}="{value}"' for name, value in properties if name in _KEPT)


def read_plots(files: Mapping[str, Sequence[Path]], wide: Collection[str] = ()) -> list[Plot]:
    """Return the figures in SVG files, which contain their titles.

    `wide` figures keep their size, so that all letters are equally large.
    """
    return [
        Plot(
            "",
            name.replace("_", " "),
            inline_svg(path.read_text(encoding="utf-8"), sized=name in wide),
            name in wide,
        )
        for name, paths in files.items()
        for path in paths
        if path.suffix == ".svg"
    ]
