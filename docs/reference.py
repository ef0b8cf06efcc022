"""Write the parts of pages that are made from the code: `make reference`.

A part is between two comments, `<!-- NAME ARGUMENTS: begin -->` and `<!-- NAME ARGUMENTS: end -->`.
GitHub shows the pages as they are in the repository, so the parts are written into the files.
"""

from __future__ import annotations

import argparse
import inspect
import json
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

from pytest_tablebench import hookspecs
from pytest_tablebench.claims._claim import Claim, examples_needed
from pytest_tablebench.claims.estimate import Moments
from pytest_tablebench.claims.gates._power import TABLE_CORRELATION
from pytest_tablebench.commands.parser import make_parser
from pytest_tablebench.config.options import OPTIONS
from pytest_tablebench.metrics import METRICS
from pytest_tablebench.results.exit_codes import EXIT_CODES

DOCS = Path(__file__).parent
_PART = re.compile(r"<!-- (?P<call>.+): begin -->\n.*?<!-- (?P=call): end -->", re.DOTALL)
_DIFFERENCES = {"refuse": "refused", "note": "noted", "ignore": "ignored"}
_RATES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
_BASE = 1000
"""The examples of the samples that are scaled; any number gives the same tables."""
_LANGUAGES = {".py": "python", ".toml": "toml", ".yml": "yaml"}


def written(page: str) -> str:
    """Return the text of a page with all its parts made from the code."""

    def part(match: re.Match[str]) -> str:
        name, *arguments = match["call"].split()
        body = "\n".join(PARTS[name](*arguments)).strip("\n")
        return f"<!-- {match['call']}: begin -->\n\n{body}\n\n<!-- {match['call']}: end -->"

    return _PART.sub(part, page)


def options() -> Iterator[str]:
    """Yield a table with a row for each option."""
    rows = (
        (
            f"`{option.flag}{'=' + option.metavar if option.metavar else ''}`",
            _plain(option.help),
            f"`{option.recorded}`" if option.recorded else "-",
            f"{_DIFFERENCES[option.differs.verdict]}: {_plain(option.differs.meaning)}",
        )
        for option in OPTIONS
    )
    return _table(("option", "meaning", "in `run.json`", "runs that differ"), rows)


def commands() -> Iterator[str]:
    """Yield a section for each command of `tablebench`, and one for each command below it."""
    for name, parser, summary in subparsers(make_parser()):
        yield f"### tablebench {name}\n\n{_plain(summary or parser.description or '')}.\n"
        yield from _arguments(parser)
        for inner, inner_parser, inner_summary in subparsers(parser):
            yield f"#### tablebench {name} {inner}\n\n{_plain(inner_summary or '')}.\n"
            yield from _arguments(inner_parser)


def metrics() -> Iterator[str]:
    """Yield the names of the built-in metrics, each a link to its section."""
    yield ", ".join(f"[`{name}`](#{name})" for name in sorted(METRICS)) + "."


def exit_codes() -> Iterator[str]:
    """Yield a table with a row for each exit code of a run."""
    rows = ((code.code, code.with_gates, code.without_gates) for code in EXIT_CODES)
    return _table(("code", "with gates", "without gates"), rows)


def schema(name: str, *place: str) -> Iterator[str]:
    """Yield a table of the fields at a place of a JSON schema: `record properties steps items`."""
    facts = json.loads((DOCS / f"schemas/{name}.schema.json").read_text("utf-8"))
    for step in place:
        facts = facts["$defs"][step] if step in facts.get("$defs", {}) else facts[step]
    rows = (
        (f"`{key}`", _type(field), field["description"])
        for key, field in facts["properties"].items()
    )
    return _table(("field", "type", "meaning"), rows)


def file(name: str) -> Iterator[str]:
    """Yield a code block with the content of a file. Its own tests run it, not those of pages."""
    if name.endswith(".py"):
        yield "<!--- skip: next -->\n"
    path = DOCS / name
    yield f"```{_LANGUAGES[path.suffix]}\n{path.read_text('utf-8').strip()}\n```"


def hooks() -> Iterator[str]:
    """Yield a section for each hook that adds parts."""
    for name, hook in vars(hookspecs).items():
        if name.startswith("pytest_tablebench_"):
            arguments = ", ".join(inspect.signature(hook).parameters)
            yield f"### `{name}({arguments})`\n\n{inspect.getdoc(hook)}\n"


def how_many(name: str) -> Iterator[str]:
    """Yield a table of the questions that a gate needs: by bound, margin or questions a table."""
    return {"bounds": _bounds, "margins": _margins, "tables": _tables}[name]()


def _bounds() -> Iterator[str]:
    """Yield the highest bound that holds, by number of questions and pass rate."""
    rows = (
        (f"{n:,}", *(f"{_highest(rate, n):.2f}" for rate in _RATES))
        for n in (10, 20, 50, 100, 200, 500, 1000)
    )
    return _table(("questions", *map(_percent, _RATES)), rows)


def _highest(rate: float, n: int) -> float:
    bounds = (percent / 100 for percent in range(round(100 * rate) - 1, 0, -1))
    claims = (Claim(bound, at_least=True, paired=False) for bound in bounds)
    return next(claim.bound for claim in claims if _needed(_sample(rate), claim) <= n)


def _margins() -> Iterator[str]:
    """Yield the number of questions of an equal model, by margin and share of other answers."""
    rows = []
    for margin in (0.1, 0.05, 0.03, 0.02, 0.01):
        claim = Claim(-margin, at_least=True, paired=True)
        counts = []
        for share in (0.0, 0.1, 0.2, 0.3):
            differences = Moments(
                0.0, share / _BASE, _BASE - 1.0, _BASE, _BASE, False, share * _BASE
            )
            same = Moments(0.0, 0.0, None, _BASE, _BASE)
            counts.append(_needed(differences if share else same, claim))
        rows.append((f"`>= baseline - {margin:g}`", *(f"{count:,}" for count in counts)))
    shares = ("the same answers", "10 % differ", "20 % differ", "30 % differ")
    return _table(("gate", *shares), rows)


def _tables() -> Iterator[str]:
    """Yield the number of tables and questions, by questions about one table."""
    rows = []
    for size in (1, 2, 5, 10, 20):
        cells = []
        for rate in (1.0, 0.95, 0.9):
            needed = _needed(_sample(rate, size), Claim(0.8, at_least=True, paired=False))
            tables = -(-needed // size)
            cells.append(f"{tables:,} ({tables * size:,})")
        rows.append((str(size), *cells))
    return _table(("questions about one table", *map(_percent, (1.0, 0.95, 0.9))), rows)


def _sample(rate: float, size: int = 1) -> Moments:
    """Return the moments of right and wrong answers, `size` of them about each table."""
    variance, tables = rate * (1 - rate) / _BASE, _BASE / size
    if not variance:
        return Moments(rate, 0.0, None, tables, _BASE, size > 1)
    design = 1 + (size - 1) * TABLE_CORRELATION
    return Moments(rate, variance * design, tables - 1, tables, _BASE, size > 1, 0.0, variance)


def _needed(stats: Moments, claim: Claim) -> int:
    return examples_needed(stats, claim, fewest=2) or 10**9


def _percent(rate: float) -> str:
    return f"{100 * rate:.0f} % right"


PARTS: Mapping[str, Callable[..., Iterable[str]]] = {
    "options": options,
    "commands": commands,
    "metrics": metrics,
    "exit-codes": exit_codes,
    "schema": schema,
    "file": file,
    "hooks": hooks,
    "how-many": how_many,
}
"""What makes each part, by name."""


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
        yield f"- `{name}{f'={value}' if value else ''}`: {_plain(action.help or 'see above')}."
    yield ""


def _plain(text: str) -> str:
    """Return a help text as Markdown, with its special characters escaped."""
    text = text.replace("%%", "%").rstrip(".")
    return "".join(f"\\{char}" if char in "*_<>[]|#" else char for char in text)


def main() -> None:
    """Write the parts of all pages."""
    for page in sorted(DOCS.glob("*.md")):
        text = page.read_text("utf-8")
        if (new := written(text)) != text:
            page.write_text(new, "utf-8", newline="\n")


if __name__ == "__main__":
    main()
