"""Figures by tag: of the examples of each value, of those without one, and of the rest."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_tablebench.results._examples import Examples

MOST = 200
"""Values of a tag that have figures of their own: those of the most examples."""

TAGS = 20
"""Tags that have figures: those of the most examples."""

Tags = Mapping[str, Sequence[str]]
"""The value of each example of a dataset, by tag; empty without one."""

Measures = Callable[[Sequence[Examples]], dict[str, Any]]


def by_tag(
    datasets: Sequence[Examples], tags: Sequence[Tags], measures: Measures
) -> dict[str, Any]:
    """Return what `summary.json` says of a scope by tag; of a scope without tags nothing.

    For each tag: `values`, the measures of the examples of each value, in the order of names;
    `without`, those of the examples that lack it; and, where it has more than `MOST` values,
    `others`, the measures of the examples of all that are not shown, and `n_others`, how many
    values these are. So the counts of a tag add up to those of the scope. Of more than
    `TAGS` tags the commonest are there, and `tags_left_out` says how many are not.
    """
    tables: dict[str, dict[str, Any]] = {}
    used = Counter(
        tag
        for dataset_tags in tags
        for tag, column in dataset_tags.items()
        for value in column
        if value
    )
    most = sorted(used, key=lambda tag: (-used[tag], tag))[:TAGS]
    for tag in sorted(most):
        columns = [
            dataset_tags.get(tag, ("",) * len(examples))
            for examples, dataset_tags in zip(datasets, tags, strict=True)
        ]
        counts = Counter(value for column in columns for value in column if value)
        ranked = sorted(counts, key=lambda value: (-counts[value], value))
        shown, others = sorted(ranked[:MOST]), ranked[MOST:]
        place = {value: value for value in shown} | dict.fromkeys(others)
        rows: dict[str | None, list[list[int]]] = {}
        for number, column in enumerate(columns):
            for row, value in enumerate(column):
                rows_of_value = rows.setdefault(place.get(value, ""), [[] for _ in columns])
                rows_of_value[number].append(row)

        def measures_of(key: str | None, rows: Any = rows) -> dict[str, Any]:
            pairs = zip(datasets, rows[key], strict=True)
            return measures([examples.only(places) for examples, places in pairs if places])

        tables[tag] = {"values": {value: measures_of(value) for value in shown}}
        if "" in rows:
            tables[tag]["without"] = measures_of("")
        if others:
            tables[tag] |= {"others": measures_of(None), "n_others": len(others)}
    more = {"tags_left_out": len(used) - len(most)} if len(used) > len(most) else {}
    return {"tags": tables, **more} if tables else {}
