"""A document as a page: escaping, colours, and the content security policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.claims.estimate import Estimate
from pytest_tablebench.documents import document as doc
from pytest_tablebench.documents._charts import draw
from pytest_tablebench.documents.formats import PAGE, pieces, safe_address
from pytest_tablebench.errors import writing
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import counted, printable

if TYPE_CHECKING:
    from jinja2 import Environment, Template

_SHADES = 20


def save_page(
    out: Path,
    template: str,
    facts: Mapping[str, Any],
    *,
    modules: Sequence[str] = (),
    styles: Sequence[str] = ("page.css",),
) -> None:
    """Render a template with its style and one script, and replace `out` whole.

    Arguments:
        out: the file to write.
        template: the name of the template.
        facts: the template's variables.
        modules: names of files in `static/page` that form the script; none for no script.
        styles: files in `static`, in their order.

    Raises `SettingsError` if `out` cannot be written.
    """
    style, code = "".join(map(_static, styles)) + _shades(), _script(modules)
    stream = compiled(template).generate(
        **facts, style=style, script=code, policy=_policy(style, code)
    )
    with writing(f"cannot write the page {out}", "; choose another place"):
        out.parent.mkdir(parents=True, exist_ok=True)
        write_whole(out, stream)


def save_document(document: doc.Document, out: Path) -> None:
    """Write a document as a page that loads nothing.

    Raises `SettingsError` if `out` cannot be written.
    """
    save_page(out, "document.html", {"document": document, "sections": _sections(document.blocks)})


def grouped(
    blocks: Iterable[doc.Block], heading: doc.Heading | None = None
) -> list[dict[str, Any]]:
    """Return the blocks below a heading for the macro `groups` of `blocks.html`.

    The blocks of a group share a card (`card`) or a row of charts (`Chart`), or are alone.
    """
    groups: list[dict[str, Any]] = []
    for block in blocks:
        shown_block = draw(block) if isinstance(block, doc.Chart) else block
        if shown_block is None:
            continue
        former = groups[-1]["kind"] if groups else None
        is_alone = isinstance(block, doc.Verdict) or (
            isinstance(block, doc.Paragraph | doc.Listing) and former != "card"
        )
        kind = "Chart" if isinstance(block, doc.Chart) else "" if is_alone else "card"
        if isinstance(block, doc.Heading) or former != kind:
            title = block if isinstance(block, doc.Heading) else heading
            label = "" if title is None else one_line(title.text)
            groups.append({"kind": kind, "label": label, "blocks": []})
        groups[-1]["blocks"].append(shown_block)
    return groups


def _sections(blocks: Iterable[doc.Block]) -> list[dict[str, Any]]:
    """Return the blocks before the first heading of level 2, and below each."""
    parts: list[tuple[doc.Heading | None, list[doc.Block]]] = [(None, [])]
    for block in blocks:
        if isinstance(block, doc.Heading) and block.level == 2:
            parts.append((block, []))
        else:
            parts[-1][1].append(block)
    return [
        {"name": (heading and heading.name) or f"section-{n}", "heading": heading, "groups": groups}
        for n, (heading, inner) in enumerate(parts)
        if (groups := grouped(inner, heading)) or heading
    ]


def one_line(text: doc.Text, most: int = 2000) -> str:
    """Return a sentence as visible text without marks."""
    return printable(PAGE.text(text), most)


def _strength(cell: doc.Cell, kind: doc.Kind = "number") -> str:
    """Return the class of the colour of a cell, or of an estimated difference."""
    if isinstance(cell, Estimate):
        return slope(cell.value) if kind == "signed" else ""
    figure = cell.text if isinstance(cell, doc.Choice) else cell
    if not isinstance(figure, doc.Figure) or figure.strength is None:
        return ""
    is_difference = figure.kind == "signed"
    return slope(figure.strength) if is_difference else shade(figure.strength)


def _on_scale(estimate: Estimate, column: doc.Column) -> dict[str, Any] | None:
    """Return the places of an estimate on a mark that is 120 units wide; None without a value."""
    if estimate.value is None or column.scale is None:
        return None
    low, high = column.scale

    def place(value: float) -> float:
        return round(2 + 116 * min(1.0, max(0.0, (value - low) / (high - low))), 2)

    return {
        "value": place(estimate.value),
        "ends": estimate.interval and [place(end) for end in estimate.interval],
        "zero": place(0.0) if low < 0 < high else None,
        "edge": None if column.edge is None else place(column.edge),
    }


def compiled(template: str) -> Template:
    """Return a template; the first call takes a tenth of a second."""
    return _environment().get_template(template)


@cache
def _environment() -> Environment:
    from jinja2 import Environment, PackageLoader, StrictUndefined

    environment = Environment(
        loader=PackageLoader(__package__),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {
        "number": PAGE.number,
        "signed": PAGE.signed,
        "percent": PAGE.percent,
        "count": PAGE.count,
        "counted": counted,
        "visible": printable,
        "visible_lines": lambda text: "\n".join(map(printable, text.splitlines())),
        "figure": PAGE.figure,
        "interval": PAGE.interval,
        "kind": lambda value: type(value).__name__,
        "leads": safe_address,
        "line": one_line,
        "on_scale": _on_scale,
        "pieces": pieces,
        "plain": lambda piece: printable(PAGE.plain(piece), 2000),
        "strength": _strength,
    }
    environment.globals["no_estimate"] = Estimate()
    return environment


def _static(*path: str) -> str:
    return resources.files(__package__).joinpath("static", *path).read_text(encoding="utf-8")


def _script(modules: Sequence[str]) -> str:
    """Return modules as one script, each in its own scope; they share the object `page`."""
    if not modules:
        return ""
    code = [f"{{ // {name}\n{_static('page', name + '.js')}}}" for name in modules]
    return "\n".join(['"use strict";\n(() => {\nconst page = {};', *code, "})();\n"])


def _policy(style: str, script: str) -> str:
    """Return a policy that allows this style and script by digest, and pictures in the page."""
    rules = [
        "default-src 'none'",
        "img-src data:",
        f"style-src {_digest(style)}",
        "base-uri 'none'",
    ]
    rules += [f"script-src {_digest(script)}"] if script else ["script-src 'none'"]
    # Trusted types keep a mistake in the script from turning text into markup.
    return "; ".join(
        [*rules, "form-action 'none'", "require-trusted-types-for 'script'", "trusted-types 'none'"]
    )


def _digest(text: str) -> str:
    return f"'sha256-{base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()}'"


def _shades() -> str:
    """Return the classes of heat maps: the policy allows no styles on elements."""
    rules = []
    for step in range(_SHADES + 1):
        share = round(step / _SHADES * 72)
        rules.append(f".h{step}{{background:color-mix(in oklab,var(--heat) {share}%,var(--card))}}")
        rules.append(f".u{step}{{background:color-mix(in oklab,var(--up) {share}%,var(--card))}}")
        rules.append(f".n{step}{{background:color-mix(in oklab,var(--down) {share}%,var(--card))}}")
    return "\n".join(rules) + "\n"


def shade(value: float | None) -> str:
    """Return the class of a value in 0..1."""
    return "" if value is None else f"h{min(_SHADES, max(0, round(value * _SHADES)))}"


def slope(value: float | None, reach: float = 0.3) -> str:
    """Return the class of a difference, full colour at `reach`."""
    if value is None:
        return ""
    step = min(_SHADES, round(abs(value) / reach * _SHADES))
    return f"{'n' if value < 0 else 'u'}{step}"
