"""Small files of NumericNLG, SciGen and QTSumm in upstream's format, with made-up content."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.datasets import Source
from pytest_tablebench.datasets.torr.generation import NumericNLG, QTSumm, SciGen
from pytest_tablebench.tables.table import Table
from tests.support.upstream import write

Content = Any
"""A file's content: a value written as JSON, or text or bytes written unchanged."""


def html(header: list[str], rows: list[list[str]]) -> str:
    """Return a table in upstream's form: one line, with blanks between the tags."""
    head = "".join(f"      <th>{name}</th>" for name in header)
    body = "".join(
        f"    <tr>{''.join(f'      <td>{cell}</td>' for cell in row)}    </tr>" for row in rows
    )
    return (
        f"<table border='1' class='dataframe'>  <thead>    <tr style='text-align: right;'>{head}"
        f"    </tr>  </thead>  <tbody>{body}  </tbody></table>"
    )


# NumericNLG

N_TEST, N_TEST_DESC = "data/table_test.json", "data/table_desc_test.json"
N_VAL, N_VAL_DESC = "data/table_val.json", "data/table_desc_val.json"
N_HTML = html(["", "Kiln || Old", "Kiln || New"], [["Fired || Day", "12", "40"]])


def n_table(key: str, **changes: Any) -> dict[str, Any]:
    row = {
        "table_id_paper": key, "caption": f"Kilns of {key}", "table_html_clean": N_HTML,
        "row_headers": [["Fired", "Day"]], "contents": [["12", "40"]], "valid": 1,
        "table_name": "Table 3", "table_id": "table_3", "metrics_type": [],
    }  # fmt: skip
    return row | changes


def n_text(key: str, **changes: Any) -> dict[str, Any]:
    row = {
        "table_id_paper": key, "description": f"In {key} the New kiln wins. It fires 40 times.",
        "sentences": [], "n_sentence": 2.0, "header_mention": [None],
    }  # fmt: skip
    return row | changes


N_KEYS = ["P16-1table_2", "P16-1table_3"]
N_POOL = [f"V16-{number}table_1" for number in range(6)]


def n_files(**changes: Content) -> dict[str, Content]:
    files: dict[str, Content] = {
        N_TEST: [n_table(key) for key in N_KEYS],
        N_TEST_DESC: [n_text(key) for key in reversed(N_KEYS)],
        N_VAL: [n_table(key) for key in N_POOL],
        N_VAL_DESC: [n_text(key) for key in N_POOL],
    }
    return files | {
        {"test": N_TEST, "desc": N_TEST_DESC, "val": N_VAL, "val_desc": N_VAL_DESC}[name]: content
        for name, content in changes.items()
    }


# SciGen

S_TEST, S_OTHER = "dataset/test/test-CL.json", "dataset/test/test-Other.json"
S_MEDIUM = "dataset/train/medium/train.json"
S_TRAIN, S_DEV = "dataset/train/few-shot/train.json", "dataset/development/few-shot/dev.json"


def s_row(name: str, **changes: Any) -> dict[str, Any]:
    row = {
        "paper": "Kilns", "paper_id": "1", "table_caption": f"Table 1: kilns of {name}",
        "table_column_names": ["Kiln", "Fired"],
        "table_content_values": [["Old", "[BOLD] 12"], ["New", "40\u00a0±\u00a01"]],
        "text": f"In {name} the New kiln wins. [CONTINUE] It fires 40 times.",
    }  # fmt: skip
    return row | changes


def s_files(**changes: Content) -> dict[str, Content]:
    files: dict[str, Content] = {
        S_TEST: {"17": s_row("a"), "3": s_row("b")},
        S_OTHER: {"17": s_row("other", field="cs.LG")},
        S_TRAIN: {str(number): s_row(f"t{number}") for number in range(6)},
    }
    return files | {
        {"test": S_TEST, "train": S_TRAIN}[name]: content for name, content in changes.items()
    }


# QTSumm

Q_TEST, Q_TRAIN, Q_DEV = "qtsumm_test.json", "qtsumm_train.json", "qtsumm_dev.json"


def q_table(**changes: Any) -> dict[str, Any]:
    table = {
        "header": ["Kiln", "Fired"], "rows": [["Old", "12"], ["New", "40"]],
        "title": "Kilns", "table_id": "k-1",
    }  # fmt: skip
    return table | changes


def q_row(key: str, **changes: Any) -> dict[str, Any]:
    row = {
        "example_id": key, "table": q_table(), "query": f"Which kiln wins {key}?",
        "summary": f"The New kiln wins {key}.", "row_ids": [1],
    }  # fmt: skip
    return row | changes


def q_files(**changes: Content) -> dict[str, Content]:
    files: dict[str, Content] = {
        Q_TEST: [q_row("e-2"), q_row("e-1")],
        Q_TRAIN: [q_row(f"t-{number}") for number in range(6)],
    }
    return files | {
        {"test": Q_TEST, "train": Q_TRAIN}[name]: content for name, content in changes.items()
    }


DATASETS: dict[str, tuple[Any, Callable[..., dict[str, Content]]]] = {
    "numericnlg": (NumericNLG(), n_files),
    "scigen": (SciGen(), s_files),
    "qtsumm": (QTSumm(), q_files),
}
every = pytest.mark.parametrize("name", DATASETS)


def opened(name: str, folder: Path, files: dict[str, Content] | None = None) -> Source:
    dataset, make = DATASETS[name]
    return dataset.open(write(folder / name, make() if files is None else files))


def ids(source: Source) -> list[str]:
    return list(source.example_ids(None))


def table_of(source: Source, example_id: str) -> Table:
    table = source.example(example_id).inputs["table"]
    assert isinstance(table, Table)
    return table
