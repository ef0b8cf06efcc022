"""Published rows below the rows of runs, and the matching of a run's model with their names.

Provider, region, version and spelling are ignored, so `openai/gpt-4o-2024-11-20` is `gpt-4o`. The
rest must match as a whole: `gpt-4o-mini`, `gemini-1.5-flash-8b` or a quantized
`llama3.1:70b-instruct-q4_0` is not a published model.
"""

from __future__ import annotations

import csv
import re
import tomllib
from collections.abc import Iterable, Mapping, Sequence
from functools import cache
from importlib import resources
from typing import Any, NamedTuple

from pytest_tablebench.documents.formats import number
from pytest_tablebench.papers.table import PaperTable, Printed, Row, Value, captioned, captions
from pytest_tablebench.results.run import Run

Noted = tuple[Row, str]
"""A row, and its note."""

# The names of models

_LONGEST = 200
_REGION = re.compile(r"^(?:us|eu|apac|global)\.")
_VENDOR = re.compile(r"^(?:anthropic|meta|mistral|deepseek|qwen|amazon|cohere|google)[.]|^meta-")
_OPEN_WEIGHTS = re.compile(r"^open-(?=mi[sx]tral-)")
"""The prefix of tuned open models on Mistral's own service."""

_VERSION = r"-(?:20\d\d-\d\d-\d\d|20\d{6}|00[1-9]|latest|free|nitro)"
_TUNED = r"-(?:instruct|it|i|chat)(?:-turbo)?"
_SUFFIX = re.compile(
    rf"(?P<tuned>{_TUNED})(?:{_VERSION})*(?:-v\d+(?:-\d+)*)?$"
    rf"|(?:-v\d+)?(?:{_VERSION})+(?:-v\d+(?:-\d+)*)?$"
)


def published_name(model: str, names: Iterable[str]) -> str | None:
    """Return the published name of a model, or None."""
    parts, is_tuned = _read(model)
    # Ollama's library serves the tuned model under the bare name.
    tuned = {is_tuned, is_tuned or model.startswith(("ollama/", "ollama_chat/"))}
    for name in names:
        other_parts, other_tuned = _read(name)
        if parts == other_parts and other_tuned in tuned:
            return name
    return None


def _family(model: str) -> str:
    """Return a model's name without provider, region and vendor, in small letters."""
    text = model[:_LONGEST].lower().rpartition("/")[2]
    return _VENDOR.sub("", _REGION.sub("", text))


def _read(model: str) -> tuple[list[str], bool]:
    """Return a name's letters and numbers, and whether it names the instruction-tuned model."""
    text = _family(model)
    bare = _OPEN_WEIGHTS.sub("", text)
    # Fireworks writes 3.1 as v3p1.
    plain = re.sub(r"\bv(\d+)p(\d+)\b", r"\1-\2", bare)
    plain = re.sub(r"[^a-z0-9]+", "-", plain)
    suffix = _SUFFIX.search(plain)
    core = plain if suffix is None else plain[: suffix.start()]
    tuned = bare != text or (suffix is not None and suffix["tuned"] is not None)
    return re.findall(r"[a-z]+|\d+", core), tuned


@cache
def _families() -> Mapping[str, bool]:
    return {line["family"]: line["open"] == "yes" for line in published("open_models")}


def open_groups(runs: Sequence[Run]) -> dict[str, str]:
    """Return `open` or `closed` by the label of a run; unknown models are left out.

    Without the run's own answer the longest beginning of the model's name counts.
    """
    groups = {}
    for run in runs:
        name, answer = _family(run.facts.model), run.facts.open_weights
        starts = [start for start in _families() if name.startswith(start)]
        if answer not in {"yes", "no"} and starts:
            answer = "yes" if _families()[max(starts, key=len)] else "no"
        if answer in {"yes", "no"}:
            groups[run.model] = "open" if answer == "yes" else "closed"
    return groups


# The papers, and published rows


@cache
def paper(name: str) -> dict[str, Any]:
    """Return what a paper measured, from `papers.toml`."""
    text = resources.files(__package__).joinpath("papers.toml").read_text(encoding="utf-8")
    facts: dict[str, Any] = tomllib.loads(text)[name]
    return facts


def caveat(name: str, key: str, **words: object) -> str:
    """Return how a run differs from a paper, with `words` inserted."""
    text: str = paper(name)["caveats"][key]
    return text.format_map(words)


def published(name: str) -> list[dict[str, str]]:
    """Return the rows of a file of published figures as printed, by column name."""
    text = resources.files(__package__).joinpath(f"{name}.csv").read_text(encoding="utf-8")
    return list(csv.DictReader(line for line in text.splitlines() if not line.startswith("#")))


def shares(figures: Iterable[str]) -> list[float | None]:
    """Return figures in per cent as shares; None for one that was not printed."""
    return [float(figure) / 100 if figure else None for figure in figures]


def beside_published(
    name: str,
    columns: Sequence[str],
    own_rows: Sequence[Noted],
    others: Iterable[Row],
    *,
    names: Mapping[str, str] | None = None,
    headline: Sequence[str] = (),
) -> PaperTable | None:
    """Return the rows of runs followed by the published rows; None without any run.

    `name` and `columns` are those of `captioned`. `names` has the models of own rows by label. If
    a published row has the same model, the own row's note begins with both values of the
    `headline` columns, or of all columns if these have no value.
    """
    if not own_rows:
        return None
    published_rows = list(others)
    titles = [*captions()[name]["columns"], *columns]
    notes = []
    for row, note in own_rows:
        pairs = same_model(names or {}, titles, row, published_rows)
        first = [pair for pair in pairs if pair.figure in headline] or pairs
        figures = ", ".join(f"{pair.figure} {pair}" for pair in first)
        comparison = f"compared with the published {first[0].model}: {figures}" if first else ""
        notes.append("; ".join(filter(None, (comparison, note))))
    notes += [""] * len(published_rows)
    rows = (*(row for row, _ in own_rows), *published_rows)
    return captioned(name, rows, columns, notes, own_rows=len(own_rows))


class PublishedFigure(NamedTuple):
    """A published value and a run's value, of one model and one figure."""

    model: str
    figure: str
    published: float
    measured: float

    def __str__(self) -> str:
        """Return both, as `published .49, here .451`."""
        values = self.published, self.measured
        texts = [number(value, 2 if isinstance(value, Printed) else 3) for value in values]
        return "published {}, here {}".format(*(text.removeprefix("0") for text in texts))


def same_model(
    names: Mapping[str, str], columns: Sequence[str], row: Row, others: Iterable[Row]
) -> list[PublishedFigure]:
    """Return the figures of a row with the figures of its model's first published row.

    `names` are the models, by the label in a row's first cell. Further names after model and
    source, such as the strategy, must agree too.
    """
    model = names.get(str(row[0]))
    comparable = [other for other in others if _has_same_names(row, other)]
    by_name = {str(other[0]): other for other in reversed(comparable)}
    name = None if model is None else published_name(model, by_name)
    if name is None:
        return []
    return [
        PublishedFigure(name, column, published_value, value)
        for column, value, published_value in zip(columns, row, by_name[name], strict=True)
        if isinstance(value, float) and isinstance(published_value, float)
    ]


def _has_same_names(row: Sequence[Value], other: Sequence[Value]) -> bool:
    pairs = zip(row[2:], other[2:], strict=True)
    return all(
        name == other_name
        for name, other_name in pairs
        if isinstance(name, str) and isinstance(other_name, str)
    )
