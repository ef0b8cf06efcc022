"""Write the tables of the page on how many questions a gate needs: `python docs/how_many.py`.

A table is between the comments `<!-- how-many NAME: begin -->` and `<!-- how-many NAME: end -->`.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from pathlib import Path

from pytest_tablebench.results._intervals import Moments
from pytest_tablebench.results.gates._needs import Claim, examples_needed
from pytest_tablebench.results.gates._power import TABLE_CORRELATION

PAGE = Path(__file__).with_name("how-many.md")
_PART = re.compile(
    r"<!-- how-many (?P<name>.+): begin -->\n.*?<!-- how-many (?P=name): end -->", re.S
)
_RATES = (1.0, 0.95, 0.9, 0.8, 0.7, 0.6, 0.5)
_BASE = 1000
"""The number of examples of the samples that are scaled; any number gives the same tables."""


def written(page: str) -> str:
    """Return the text of the page with all its tables."""

    def part(match: re.Match[str]) -> str:
        name = match["name"]
        body = "\n".join(how_many(name))
        return f"<!-- how-many {name}: begin -->\n\n{body}\n\n<!-- how-many {name}: end -->"

    return _PART.sub(part, page)


def how_many(name: str) -> Iterator[str]:
    """Yield the lines of a table: `bounds`, `margins` or `tables`."""
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


def _table(head: tuple[str, ...], rows: Iterable[tuple[str, ...]]) -> Iterator[str]:
    for cells in (head, ("---",) * len(head), *rows):
        yield f"| {' | '.join(cells)} |"


if __name__ == "__main__":
    PAGE.write_text(written(PAGE.read_text("utf-8")), "utf-8", newline="\n")
