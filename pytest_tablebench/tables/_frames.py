"""Conversion between tables and data frames."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import TableError
from pytest_tablebench.tables.content import AnyTable, Cell, TableContent
from pytest_tablebench.tables.readers import plain_value

if TYPE_CHECKING:
    import pandas as pd


def read_pandas(kind: type[AnyTable], frame: pd.DataFrame, *, title: str | None) -> AnyTable:
    """Read a data frame; see `Table.from_pandas`."""
    import pandas as pd

    if not isinstance(frame, pd.DataFrame):
        raise TableError(f"a DataFrame is needed, not {type(frame).__name__}")
    if isinstance(frame.columns, pd.MultiIndex):
        raise TableError(
            f"the DataFrame's columns are a MultiIndex of {frame.columns.nlevels} levels; "
            f"a flat table has one name per column"
        )
    header = [_frame_value(name) for name in frame.columns]
    # By position: an equal name would select a frame instead of a column.
    columns = [
        [_frame_value(value) for value in frame.iloc[:, position].tolist()]
        for position in range(len(header))
    ]
    rows: Sequence[tuple[Cell, ...]] = (
        list(zip(*columns, strict=True)) if columns else [()] * len(frame)
    )
    return kind(tuple(header), tuple(rows), title)


def _frame_value(value: Any) -> Cell:
    import numpy as np
    import pandas as pd

    if value is None or value is pd.NA or value is pd.NaT:
        return None
    if isinstance(value, np.datetime64):
        return _frame_value(pd.Timestamp(value))
    if isinstance(value, np.timedelta64):
        return _frame_value(pd.Timedelta(value))
    if isinstance(value, np.generic):
        value = value.item()
    elif isinstance(value, np.ndarray):
        value = value.tolist()
    if isinstance(value, float) and math.isnan(value):
        return None
    return plain_value(value)


def to_pandas(table: TableContent) -> pd.DataFrame:
    """Return the table as a data frame; see `Table.to_pandas`."""
    import pandas as pd

    table.require_rectangular("a DataFrame")
    # Names of one type get the index that pandas would make; others must not be converted.
    uniform = {type(name) for name in table.header} in ({str}, {int})
    names = pd.Index(list(table.header), dtype=None if uniform else object, tupleize_cols=False)
    return pd.DataFrame([list(row) for row in table.rows], columns=names)
