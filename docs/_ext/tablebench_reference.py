"""Reference pages made from the code: options, commands, metrics, exit codes, files, `llms.txt`."""

from __future__ import annotations

import argparse
import json
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from docutils import nodes
from sphinx.application import Sphinx
from sphinx.util.docutils import SphinxDirective

from pytest_tablebench.cli import make_parser
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.metrics import METRICS
from pytest_tablebench.results.exit_codes import EXIT_CODES

LLMS = "llms.txt"
SCHEMAS = Path(__file__).parents[1] / "schemas"
REPOSITORY = "https://github.com/OWNER/pytest-tablebench/blob/main/"
_DIFFERENCES = {"refuse": "refused", "note": "noted", "ignore": "ignored"}


class Generated(SphinxDirective):
    """A part of a page whose Markdown is made from the code."""

    def lines(self) -> Iterable[str]:
        """Return the lines of Markdown."""
        raise NotImplementedError

    def run(self) -> list[nodes.Node]:
        """Return the parsed Markdown."""
        return self.parse_text_to_nodes("\n".join(self.lines()), allow_section_headings=True)


class Options(Generated):
    """Each option: its flag, meaning, ini key and name in `run.json`."""

    def lines(self) -> Iterator[str]:
        """Return a definition for each option."""
        for option in OPTIONS:
            yield f"`{option.flag}{'=' + option.metavar if option.metavar else ''}`"
            yield f": {_plain(option.help)}."
            yield ""
            recorded = f"`{option.recorded}` in `run.json`" if option.recorded else "not recorded"
            yield f"  ini key `{option.key}`; {recorded}"
            yield ""


class Comparison(Generated):
    """What a difference in each option means to a comparison of two runs."""

    def lines(self) -> Iterator[str]:
        """Return a table with a row for each option."""
        rows = (
            (
                f"`{option.flag}`",
                f"`{option.recorded}`" if option.recorded else "-",
                f"{_DIFFERENCES[option.differs.verdict]}: {_plain(option.differs.meaning)}",
            )
            for option in OPTIONS
        )
        return _table(("option", "in `run.json`", "runs that differ"), rows)


class Commands(Generated):
    """Each command of `tablebench` with its arguments."""

    def lines(self) -> Iterator[str]:
        """Return a section for each command, and one for each of its own commands."""
        for name, parser, summary in subparsers(make_parser()):
            yield f"## tablebench {name}\n\n{_plain(summary or parser.description or '')}.\n"
            yield from _arguments(parser)
            for inner, inner_parser, inner_summary in subparsers(parser):
                yield f"\n### tablebench {name} {inner}\n\n{_plain(inner_summary or '')}.\n"
                yield from _arguments(inner_parser)


class Metrics(Generated):
    """The names of the built-in metrics, each a link to its section."""

    def lines(self) -> Iterator[str]:
        """Return one line with all names."""
        yield ", ".join(f"[`{name}`](#{name})" for name in sorted(METRICS)) + "."


class ExitCodes(Generated):
    """The exit codes of a run."""

    def lines(self) -> Iterator[str]:
        """Return a table with a row for each code."""
        rows = ((one.code, one.with_gates, one.without_gates) for one in EXIT_CODES)
        return _table(("code", "with gates", "without gates"), rows)


class Schema(Generated):
    """The fields of a file in the run folder, from its JSON schema.

    The argument names the schema, and then the place of the fields in it: `record steps items`.
    """

    required_arguments = 1
    optional_arguments = 9

    def lines(self) -> Iterator[str]:
        """Return a table with a row for each field."""
        name, *place = self.arguments
        schema = json.loads((SCHEMAS / f"{name}.schema.json").read_text(encoding="utf-8"))
        for step in place:
            schema = schema["$defs"][step] if step in schema.get("$defs", {}) else schema[step]
        rows = (
            (f"`{field}`", _type(facts), facts["description"])
            for field, facts in schema["properties"].items()
        )
        return _table(("field", "type", "meaning"), rows)


def _type(facts: Mapping[str, Any]) -> str:
    """Return the type of a schema's value in a few words."""
    if "const" in facts:
        return f"always {facts['const']}"
    types = facts.get("type", "string" if "enum" in facts else "any")
    return " or ".join([types] if isinstance(types, str) else types)


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


def subparsers(
    parser: argparse.ArgumentParser,
) -> Iterator[tuple[str, argparse.ArgumentParser, str | None]]:
    """Yield the commands of a parser: name, parser and summary."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            summaries = {choice.dest: choice.help for choice in action._choices_actions}
            for name, inner in action.choices.items():
                yield name, inner, summaries.get(name)


def _arguments(parser: argparse.ArgumentParser) -> Iterator[str]:
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction | argparse._HelpAction):
            continue
        name = ", ".join(action.option_strings) or action.metavar or action.dest
        value = action.metavar if action.option_strings and action.nargs != 0 else None
        yield f"`{name}{f'={value}' if value else ''}`"
        yield f": {_plain(action.help or 'see above')}.\n"


def _plain(text: str) -> str:
    """Return a help text as Markdown, with its special characters escaped."""
    text = text.replace("%%", "%").rstrip(".")
    return "".join(f"\\{char}" if char in "*_<>[]|#" else char for char in text)


def _write_llms(app: Sphinx, error: Exception | None) -> None:
    """Write a list of the pages with their first sentences, for models that read the site."""
    if error is not None or app.builder.format != "html":
        return
    lines = ["# pytest-tablebench", ""]
    for name in sorted(app.env.found_docs):
        title = app.env.titles[name].astext()
        paragraphs = app.env.get_doctree(name).findall(nodes.paragraph)
        first = next((paragraph.astext() for paragraph in paragraphs), "")
        lines.append(f"- [{title}]({name}.html): {' '.join(first.split())[:200]}")
    (Path(app.outdir) / LLMS).write_text("\n".join(lines) + "\n", encoding="utf-8")


def _link_to_repository(_app: Sphinx, _docname: str, source: list[str]) -> None:
    """Link to the repository for its files that are not pages of the site."""
    source[0] = source[0].replace("](../", f"]({REPOSITORY}")


def setup(app: Sphinx) -> dict[str, Any]:
    """Add the directives."""
    for name, directive in (
        ("options", Options),
        ("comparison", Comparison),
        ("commands", Commands),
        ("metrics", Metrics),
        ("exit-codes", ExitCodes),
        ("schema", Schema),
    ):
        app.add_directive(f"tablebench-{name}", directive)
    app.connect("source-read", _link_to_repository)
    app.connect("build-finished", _write_llms)
    return {"parallel_read_safe": True}
