"""A run as a data frame of pandas."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from pytest_tablebench.results.folder import read_facts, read_records

if TYPE_CHECKING:
    import pandas as pd

SPREAD = ("parts", "checks", "tags")
"""Fields with named entries, each of which becomes a column."""


def read_run(path: str | Path) -> pd.DataFrame:
    """Return the records of a run folder, one row per case.

    The columns are the fields of `records.jsonl`. Each entry of `parts`, `checks` and `tags` has
    its own column, such as `parts.f1`. Unknown values are missing. `attrs["run"]` is the content
    of `run.json`.

    Raises `SettingsError` if the folder has no run, or one that cannot be read.
    """
    import pandas as pd

    folder = Path(path)
    content = dict(read_facts(folder).entries)
    rows = []
    for record in read_records(folder):
        row = record.values
        for name in SPREAD:
            row |= {f"{name}.{key}": value for key, value in row.pop(name).items()}
        rows.append(row)
    frame = pd.DataFrame(rows)
    frame.attrs["run"] = content
    return frame
