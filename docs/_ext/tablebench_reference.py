"""Pages made of what is declared: options, commands, and `llms.txt`, the pages in a line each."""

from __future__ import annotations

import argparse
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from pytest_tablebench.cli import make_parser
from pytest_tablebench.config.options import OPTIONS

LLMS = "llms.txt"


class Options(SphinxDirective):
    """Every option: its flag, what it does, its ini key and its place in `run.json`."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(_options()), allow_section_headings=True)


def _options() -> Iterator[str]:
    for option in OPTIONS:
        yield f"`{option.flag}{' ' + option.metavar if option.metavar else ''}`"
        yield f": {_plain(option.help)}."
        yield ""
        kept = f"`{option.recorded}`" if option.recorded else "not kept"
        yield f"  ini key `{option.key}`; in `run.json` {kept}"
        yield ""


class Commands(SphinxDirective):
    """Every command of `tablebench` with its arguments."""

    def run(self) -> list[nodes.Node]:
        return self.parse_text_to_nodes("\n".join(_commands()), allow_section_headings=True)


def _commands() -> Iterator[str]:
    for name, parser, said in subparsers(make_parser()):
        yield f"## tablebench {name}\n\n{_plain(said or parser.description or '')}.\n"
        yield from _arguments(parser)
        for inner, below, about in subparsers(parser):
            yield f"\n### tablebench {name} {inner}\n\n{_plain(about or '')}.\n"
            yield from _arguments(below)


def subparsers(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser, str | None]]:
    """Yield the commands of a parser with what is said of them."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            said = {one.dest: one.help for one in action._choices_actions}
            for name, inner in action.choices.items():
                yield name, inner, said.get(name)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        name = ", ".join(action.option_strings) or action.metavar or action.dest
        value = action.metavar if action.option_strings and action.nargs != 0 else None
        yield f"`{name}{f' {value}' if value else ''}`"
        yield f": {_plain(action.help or 'see above')}.\n"


def _plain(text: str) -> str:
    """Return a help text as Markdown: what could be markup is shown as it is."""
    text = text.replace("%%", "%").rstrip(".")
    return "".join(f"\\{one}" if one in "*_<>[]|#" else one for one in text)


def _write_llms(app: Sphinx, error: Exception | None) -> None:
    """List the pages with their first sentence, for models that read the site."""
    if error is not None or app.builder.format != "html":
        return
    lines = ["# pytest-tablebench", ""]
    for name in sorted(app.env.found_docs):
        title = app.env.titles[name].astext()
        first = next(
            (one.astext() for one in app.env.get_doctree(name).findall(nodes.paragraph)), ""
        )
        lines.append(f"- [{title}]({name}.html): {' '.join(first.split())[:200]}")
    (Path(app.outdir) / LLMS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    app.add_directive("tablebench-options", Options)
    app.add_directive("tablebench-commands", Commands)
    app.connect("build-finished", _write_llms)
    return {"parallel_read_safe": True}
