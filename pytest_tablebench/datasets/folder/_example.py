"""The dataset folder that `tablebench new` writes."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_tablebench.errors import DataError

EXAMPLE: Mapping[str, str] = {
    "tablebench.toml": """\
# All of it may be left out. docs/own-tables.md says more.
# name = "mine"            # how options, gates and reports call it; else the folder's name
# licence = "CC BY 4.0"    # recorded with every run

[defaults]
# shots = 1                # other questions of the file, shown to the model as examples
# limit = 100              # questions that are asked
# serializers = ["html", "csv"]
# perturbations = ["none", "shuffle_rows"]

# questions.csv has the columns table, question and answer, and may have
#   id             a name for the question that stays when rows are moved
#   metric         number, date, text, list, ordered_list, yes_no, free_text: else chosen by itself;
#                  or any registered metric: rouge, f1_strings, ...
#   threshold      the score from which an answer is right
#   tolerance      of a number: 0.5, or 2% of the answer
#   unit           of a number, where the cells do not say it
#   aliases        other texts that are as right: UK | Great Britain
#   tags           type=lookup | level=easy
#   perturbations  those that leave the answer true: none | shuffle_rows
#   group          what questions share, such as one fact asked in several ways; else their table
# An answer of several items is written with bars: tea | coffee
""",
    "prices.csv": """\
product,price (EUR),in stock
green tea,2.40,yes
coffee,3.10,no
cocoa,2.95,yes
""",
    "questions.csv": """\
id,table,question,answer,metric
price,prices.csv,What does coffee cost?,3.10,
cheapest,prices.csv,Which product is cheapest?,green tea,
stock,prices.csv,Which products are in stock?,green tea | cocoa,
total,prices.csv,What do all three products cost together?,8.45,number
""",
}


def write_example(folder: Path) -> list[str]:
    """Write the example into a new or empty folder; return its files. Raises `DataError`."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        if any(folder.iterdir()):
            raise DataError(f"{folder} is not empty; name a new or empty folder")
        for name, text in EXAMPLE.items():
            (folder / name).write_text(text, encoding="utf-8", newline="\n")
    except OSError as error:
        raise DataError(f"{folder} cannot be written: {error.strerror or error}") from None
    return list(EXAMPLE)
