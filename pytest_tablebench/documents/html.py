"""Rendering of pages: escaping, colours, and the content security policy."""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping, Sequence
from functools import cache
from importlib import resources
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.documents.formats import PAGE, money
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
        "money": money,
        "chance": PAGE.chance,
        "visible": printable,
        "shade": shade,
        "slope": slope,
    }
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
