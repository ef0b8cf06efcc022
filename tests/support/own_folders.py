"""Dataset folders as a user writes them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

__all__ = ["PRICES", "QUESTIONS", "write_folder"]

PRICES = "product,price\ntea,2.40\ncoffee,3.10\n"
QUESTIONS = (
    "table,question,answer,id\n"
    "prices.csv,Which product costs 2.40?,tea,cheap\n"
    "prices.csv,What does coffee cost?,3.10,coffee\n"
)


def write_folder(folder: Path, files: Mapping[str, str | bytes] | None = None) -> Path:
    """Write files into a new folder: by default two questions about a price list."""
    folder.mkdir(parents=True)
    content = {"prices.csv": PRICES, "questions.csv": QUESTIONS} if files is None else files
    for name, text in content.items():
        data = text.encode() if isinstance(text, str) else text
        (folder / name).write_bytes(data)
    return folder
