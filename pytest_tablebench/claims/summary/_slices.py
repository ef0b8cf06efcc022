"""Compute figures by tag, for the examples of each value and for the others."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from pytest_tablebench.claims.summary._examples import Examples

MOST = 200
"""The number of values per tag with separate figures; the most frequent ones have them."""

TAGS = 20
"""The number of tags with figures; the most frequent ones have them."""

Tags = Mapping[str, Sequence[str]]
"""The value of each example of a dataset, by tag; empty without one."""

Measures = Callable[[Sequence[Examples]], dict[str, Any]]


def by_tag(
    datasets: Sequence[Examples], tags: Sequence[Tags], measures: Measures
) -> dict[str, Any]:
    """Return a scope's entries by tag for `summary.json`; empty for a scope without tags.

    Each tag has `values` (the measures of each value's examples, sorted by value) and `without`
    (the measures of examples without the tag). With more than `MOST` values it also has `others`
    (the measures of the examples of the rarer values) and `n_others` (the number of these values),
    so that the counts of a tag add up to the scope's. With more than `TAGS` tags,
    `tags_left_out` is the number of the rarer tags, which are left out.
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
