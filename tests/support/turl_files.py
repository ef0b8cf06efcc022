"""Small files in TURL's layout, with made-up content."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import Source
from pytest_tablebench.datasets.torr.turl_cta import TurlCTA
from tests.support.upstream import write

TEST, DEV, TRAIN = (f"{split}.table_col_type.json" for split in ("test", "dev", "train"))
VOCABULARY = "0\tboats.ship\n1\tpeople.person\n2\tboats.captain\n"


def cell(row: int, column: int, text: str) -> list[Any]:
    return [[row, column], [1000 + row, text]]


def row(
    table_id: str = "7-1",
    headers: tuple[str, ...] = ("Ship", "Captain"),
    rows: tuple[tuple[str, ...], ...] = (("Gull", "Ann"), ("Tern", ""), ("Skua", "Bo")),
    types: tuple[tuple[str, ...], ...] = (("boats.ship",), ("people.person", "boats.captain")),
) -> list[Any]:
    """Return an upstream row; like upstream, it leaves empty texts out of the columns."""
    columns = [
        [cell(number, place, texts[place]) for number, texts in enumerate(rows) if texts[place]]
        for place in range(len(headers))
    ]
    return [
        table_id, f"page {table_id}", 7, "the fleet", "ships of 1901", list(headers), columns,
        [list(names) for names in types],
    ]  # fmt: skip


def turl(folder: Path, vocabulary: str | bytes = VOCABULARY, **files: Any) -> Path:
    """Write the given ones of `test`, `dev` and `train`; text is written unchanged."""
    rows = {f"{split}.table_col_type.json": content for split, content in files.items()}
    return write(folder, {"type_vocab.txt": vocabulary, **rows})


def opened(folder: Path, compat: Compat = "fixed") -> Source:
    return TurlCTA().open(folder, compat=compat)
