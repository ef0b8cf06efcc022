"""Check of a described dataset for mistakes in its description and its rows."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from pathlib import Path

from pytest_tablebench.datasets._source import Problem
from pytest_tablebench.datasets.described import DescribedDataset
from pytest_tablebench.datasets.folder._check import FolderCheck
from pytest_tablebench.datasets.folder._check_more import of_settings
from pytest_tablebench.errors import TableBenchError
from pytest_tablebench.util.names import shortened, unknown_name


def check_described(
    dataset: DescribedDataset, folder: Path, names: Mapping[str, Collection[str]]
) -> FolderCheck:
    """Check a description, and the rows that are read with it.

    `names` has the valid names of each axis, of metrics (`metric`) and of post-processors
    (`chain`).
    """
    place = dataset.file_name()
    problems = [Problem(place, None, *problem) for problem in of_settings(dataset, names)]
    scoring = dataset.description.scoring
    named = [("metric", "metric", scoring.metric)]
    named += [("chain", "post-processor", name) for name in scoring.chain]
    for field, kind, name in named:
        if name not in names[field]:
            problems.append(Problem(place, None, field, unknown_name(kind, name, names[field])))
    try:
        source = dataset.open(folder)
        count = len(source.example_ids(None))
    except TableBenchError as error:
        problems.append(Problem(place, None, "files", shortened(str(error), 300)))
        return FolderCheck(tuple(problems), {}, ())
    problems += source.problems
    if not count and not problems:
        problems.append(Problem(place, None, "rows", "no row is used"))
    return FolderCheck(tuple(problems), {scoring.metric: count}, source.facts.notes)
