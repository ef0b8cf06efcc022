"""A benchmark described in one file: rows, tables, texts, and mistakes in the description."""

from __future__ import annotations

import io
import json
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench import serialize
from pytest_tablebench.cli import main
from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.described import DescribedDataset, read_description
from pytest_tablebench.datasets.folder import folder_datasets
from pytest_tablebench.datasets.other.descriptions import DATASETS
from pytest_tablebench.errors import DataError
from pytest_tablebench.strategies._prompt import DemonstrationPool
from pytest_tablebench.tables.table import Table

OTHER = {dataset.name: dataset for dataset in DATASETS}

CELLS = [["Boat", "Crew"], ["Wren", 3], ["Tern", 5]]

FLAT = """
[files]
test = "{file}"

[rows]
question = "q"
answers = "a"
id = "n"

[table]
cells = "t"
"""

ROWS: list[dict[str, Any]] = [
    {"n": 1, "q": "Who sails on Wren?", "a": "three", "t": CELLS},
    {"n": 2, "q": "How many on Tern?", "a": 5, "t": CELLS},
]


def described(folder: Path, text: str, **files: Any) -> DescribedDataset:
    """Write a description and its files (JSON, JSON lines or text by name); return the dataset."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "tablebench.toml").write_text(text, encoding="utf-8")
    for name, content in files.items():
        path = folder / name.replace("__", ".")
        if isinstance(content, bytes):
            path.write_bytes(content)
        elif path.suffix == ".jsonl":
            path.write_text("".join(f"{json.dumps(row)}\n" for row in content), encoding="utf-8")
        else:
            text = content if isinstance(content, str) else json.dumps(content)
            path.write_text(text, encoding="utf-8")
    (dataset,) = folder_datasets(folder.parent)
    assert isinstance(dataset, DescribedDataset)
    return dataset


def examples(dataset: DescribedDataset, folder: Path) -> list[Example]:
    """Return all examples after checking that none has a problem."""
    source = dataset.open(folder)
    ids = source.example_ids(None)
    assert list(source.problems) == []
    return [source.example(name) for name in ids]


# Files


def zipped(rows: list[Any]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("inner/rows.json", json.dumps(rows))
    return stream.getvalue()


def tarred(rows: list[Any]) -> bytes:
    stream, data = io.BytesIO(), json.dumps(rows).encode()
    with tarfile.open(fileobj=stream, mode="w:gz") as archive:
        member = tarfile.TarInfo("inner/rows.json")
        member.size = len(data)
        archive.addfile(member, io.BytesIO(data))
    return stream.getvalue()


@pytest.mark.parametrize(
    ("file", "stored", "content"),
    [
        ("rows.json", "rows__json", ROWS),
        ("rows.jsonl", "rows__jsonl", ROWS),
        ("*.jsonl", "rows__jsonl", ROWS),
        ("all.zip/inner/rows.json", "all__zip", zipped(ROWS)),
        ("all.zip/*/*.json", "all__zip", zipped(ROWS)),
        ("all.tar.gz/inner/rows.json", "all__tar__gz", tarred(ROWS)),
    ],
)
def test_rows_of_json_are_read(tmp_path: Path, file: str, stored: str, content: Any) -> None:
    dataset = described(tmp_path / "boats", FLAT.format(file=file), **{stored: content})
    first, second = examples(dataset, tmp_path / "boats")
    assert (first.id, first.question, first.references) == ("1", "Who sails on Wren?", ("three",))
    assert (second.id, second.references) == ("2", ("5",))
    assert second.inputs["table"] == Table(["Boat", "Crew"], [["Wren", 3], ["Tern", 5]])


@pytest.mark.parametrize("kind", ["csv", "tsv", "parquet"])
def test_rows_of_tables_are_read(tmp_path: Path, kind: str) -> None:
    lines = [("n", "q", "a"), ("1", "Who?", "Ada"), ("2", "Where?", "here")]
    text = "".join(("," if kind == "csv" else "\t").join(line) + "\n" for line in lines)
    content: Any = text
    if kind == "parquet":
        pandas = pytest.importorskip("pandas")
        pytest.importorskip("pyarrow")
        content = pandas.DataFrame(lines[1:], columns=lines[0]).to_parquet()
    description = FLAT.format(file=f"rows.{kind}").partition("[table]")[0]
    dataset = described(tmp_path / "boats", description, **{f"rows__{kind}": content})
    read = [(e.id, e.question, e.references) for e in examples(dataset, tmp_path / "boats")]
    assert read == [("1", "Who?", ("Ada",)), ("2", "Where?", ("here",))]


# Nested rows


def test_nested_rows_can_use_fields_of_their_parents(tmp_path: Path) -> None:
    text = """
[files]
test = "all.json"

[rows]
at = "data.*.questions.*"
question = "text"
answers = "gold.*"
cluster = "^report.name"
where = { kind = "asked" }
tags = { level = "level" }
context = { unit = "^unit" }

[table]
records = "^cells"
title = "Report {^report.name}"

[texts]
notes = { items = "^notes", text = "words", order = "place", separator = " / " }

[scoring]
metric = "exact_match"
"""
    content = {
        "data": [
            {
                "report": {"name": "R1"},
                "unit": "t",
                "cells": [{"a": 1, "b": 2}, {"a": 3}],
                "notes": [{"words": "second", "place": 2}, {"words": "first", "place": 1}],
                "questions": [
                    {"text": "One?", "gold": ["x", 2], "kind": "asked", "level": 3},
                    {"text": "Two?", "gold": ["y"], "kind": "left out"},
                ],
            }
        ]
    }
    dataset = described(tmp_path / "nested", text, all__json=content)
    (example,) = examples(dataset, tmp_path / "nested")
    assert (example.references, example.cluster) == (("x", "2"), "nested/R1")
    assert (example.tags, example.context["unit"]) == ({"level": "3"}, "t")
    assert example.inputs["table"] == Table(["a", "b"], [[1, 2], [3, None]], "Report R1")
    prompt = dataset.prompt(example, lambda table: serialize(table, "csv"))
    assert prompt.source.startswith("first / second\n\nTitle: Report R1\nTable:\na,b\n1,2\n")
    assert prompt.source.endswith("\n\nQuestion: One?\n")


@pytest.mark.parametrize(
    ("section", "row"),
    [
        ('text = "t"\nreader = "html"', "<table><tr><th>a</th></tr><tr><td>1</td></tr></table>"),
        ('text = "t"\nreader = "csv"', "a\n1"),
        ('text = "t"\nreader = "tsv"', "a\n1"),
        ('file = "t"\nfolder = "tables"', "one.csv"),
    ],
)
def test_tables_are_read_from_texts_and_files(tmp_path: Path, section: str, row: str) -> None:
    folder = tmp_path / "boats"
    (folder / "tables").mkdir(parents=True)
    (folder / "tables/one.csv").write_text("a\n1\n")
    text = FLAT.format(file="rows.jsonl").replace('cells = "t"', section)
    dataset = described(folder, text, rows__jsonl=[{"n": 1, "q": "a?", "a": "1", "t": row}])
    (example,) = examples(dataset, folder)
    table = example.inputs["table"]
    assert (table.header, table.rows) == (("a",), (("1",),))


def test_a_missing_field_is_named_with_its_file_and_row(tmp_path: Path) -> None:
    folder = tmp_path / "boats"
    lines = [
        json.dumps({**ROWS[0], "t": [["a"], "b"]}),
        "{",
        json.dumps({"n": 3, "q": "?", "t": CELLS}),
        json.dumps({"n": 4, "a": "1", "t": CELLS}),
        json.dumps(ROWS[1]),
        json.dumps(ROWS[1]),
    ]
    dataset = described(folder, FLAT.format(file="rows.txt"), rows__txt="")
    with pytest.raises(DataError, match=r"rows\.txt must be a file of \.json, \.jsonl"):
        dataset.open(folder)
    dataset = described(folder, FLAT.format(file="rows.jsonl"))
    with pytest.raises(DataError, match=r"boats lacks rows\.jsonl.*; put its files there"):
        dataset.open(folder)
    (folder / "rows.jsonl").write_text("\n".join(lines))
    source = dataset.open(folder)
    assert source.example_ids(None) == ["2"]
    assert [str(problem) for problem in source.problems] == [
        "rows.jsonl, row 1, field 't': row 1 must be a list of cells",
        "rows.jsonl, row 2, field 'line': is not valid JSON: Expecting property name enclosed in "
        "double quotes: line 1 column 2 (char 1)",
        "rows.jsonl, row 3, field 'a': is missing",
        "rows.jsonl, row 4, field 'q': is missing",
        "rows.jsonl, row 6, field 'id': '2' occurs a second time",
    ]


# Mistakes in the description

WRONG = """\
nam = "boats"
benchmark = 3

[files]
test = "rows.jsonl"

[rows]
question = "q..x"
tags = { level = 3 }

[table]
cells = "t"
records = "r"
header_paths = "h"

[prompt]
source = "{tabel} {question}"

[scoring]
metric = "exact_macth"
chain = ["lower_caes"]

[defaults]
limit = 0
serializers = ["htlm"]
"""


def test_every_mistake_is_named_with_file_and_line(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    described(tmp_path / "boats", WRONG, rows__jsonl=ROWS)
    assert main(["check", str(tmp_path / "boats/tablebench.toml")]) == 1
    *lines, last = capsys.readouterr().out.splitlines()
    expected = [
        "tablebench.toml, field 'serializers': unknown serializer 'htlm'; did you mean 'html'",
        "tablebench.toml, field 'metric': unknown metric 'exact_macth'; did you mean 'exact_match'",
        "tablebench.toml, field 'chain': unknown post-processor 'lower_caes'; did you mean",
        "tablebench.toml: line 1: unknown key 'nam'; did you mean 'name'? known: name, benchmark",
        "tablebench.toml: line 2: benchmark must be a text",
        "tablebench.toml: line 7: answers is missing",
        "tablebench.toml: line 8: question: 'q..x' has an empty part; write names with one dot",
        'tablebench.toml: line 9: tags must be names and texts: { type = "level" }',
        "tablebench.toml: line 11: [table] needs exactly one of cells, records, text, file; it has",
        "tablebench.toml: line 14: unknown key 'header_paths'; did you mean",
        "tablebench.toml: line 17: source: unknown {tabel}; did you mean 'table'?",
        "tablebench.toml: line 24: limit must be a whole number from 1",
    ]
    assert len(lines) == len(expected)
    for line, start in zip(lines, expected, strict=True):
        assert line.startswith(start)
    assert last == "boats: 0 questions (0 exact_macth), 12 problems"


# A first description


def test_a_guessed_description_works(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    rows = [
        {
            "uid": f"q{number}",
            "table": {"header": ["Boat", "Crew"], "rows": [["Wren", str(number)]]},
            "query": "How many sail on Wren?",
            "answer": str(number),
            "level": ["easy", "hard"][number % 2],
        }
        for number in range(6)
    ]
    file = tmp_path / "rows.jsonl"
    file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    assert main(["new", str(tmp_path / "boats"), "--from", str(file)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert "[rows] question = 'query': chosen by its name or its texts" in lines
    description, mistakes = read_description(tmp_path / "boats")
    assert mistakes == ()
    assert description.rows is not None
    assert description.table is not None
    assert (description.rows.id, description.rows.answers) == ("uid", "answer")
    assert (description.table.cells, description.table.header) == ("table.rows", "table.header")
    assert description.rows.tags == {"level": "level"}
    capsys.readouterr()
    assert main(["check", str(tmp_path / "boats")]) == 0
    assert capsys.readouterr().out == "boats: 6 questions (6 typed_answer), no problem\n"
    assert main(["new", "--from", str(tmp_path / "boats/rows.jsonl")]) == 2
    assert "exists already" in capsys.readouterr().err


@pytest.mark.parametrize("content", ["[]", '[{"a": 1}]', "7", "{"])
def test_a_file_without_questions_is_named(
    tmp_path: Path, content: str, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "rows.json").write_text(content)
    assert main(["new", "--from", str(tmp_path / "rows.json")]) == 2
    assert "rows.json" in capsys.readouterr().err
    assert not (tmp_path / "tablebench.toml").exists()


def test_licence_and_citation_are_recorded_with_the_files(tmp_path: Path) -> None:
    head = 'licence = "CC BY 4.0"\ncitation = "Ada 2026"\n'
    dataset = described(tmp_path / "boats", head + FLAT.format(file="rows.jsonl"), rows__jsonl=ROWS)
    facts = dataset.open(tmp_path / "boats").facts
    assert facts.notes == ("licence: CC BY 4.0", "to be cited as: Ada 2026")
    assert set(facts.files) == {"rows.jsonl"}


def test_a_metric_of_free_text_needs_a_threshold_for_a_verdict(tmp_path: Path) -> None:
    long = " ".join(["the crew of the boat sails out at noon"] * 3)
    rows = [{**ROWS[0], "a": long}]
    text = FLAT.format(file="rows.jsonl")
    [without] = examples(
        described(tmp_path / "a/boats", text, rows__jsonl=rows), tmp_path / "a/boats"
    )
    scored = f'{text}\n[scoring]\nmetric = "rouge"\n'
    dataset = described(tmp_path / "c/boats", scored, rows__jsonl=ROWS[:1])
    assert [e.has_verdict for e in examples(dataset, tmp_path / "c/boats")] == [False]
    named = f"{text}\n[defaults]\nthreshold = 0.4\n"
    [with_one] = examples(
        described(tmp_path / "b/boats", named, rows__jsonl=rows), tmp_path / "b/boats"
    )
    assert (without.has_verdict, with_one.has_verdict) == (False, True)


@pytest.mark.parametrize(
    "pattern", ["/etc/*.json", "../*.json", "a/../../*.json", "../secret.jsonl"]
)
def test_paths_that_lead_out_of_the_folder_are_refused(tmp_path: Path, pattern: str) -> None:
    (tmp_path / "secret.jsonl").write_text('{"n": 1, "q": "?", "a": "1"}')
    dataset = described(tmp_path / "boats", FLAT.format(file=pattern))
    with pytest.raises(DataError, match="leads out of"):
        dataset.open(tmp_path / "boats")


def test_demonstrations_are_from_separate_files_or_from_the_test_file(tmp_path: Path) -> None:
    folder = tmp_path / "boats"
    text = FLAT.format(file="rows.jsonl")
    dataset = described(folder, text, rows__jsonl=ROWS)
    assert len(dataset.open(folder).pool) == 2
    named = text.replace("[rows]", 'demonstrations = "train.jsonl"\n\n[rows]')
    dataset = described(folder, named, train__jsonl=ROWS[:1])
    assert [dataset.open(folder).pool[0].id] == ["1"]
    (folder / "train.jsonl").unlink()
    with pytest.raises(DataError, match=r"lacks train\.jsonl"):
        _ = dataset.open(folder).pool


def test_a_question_is_not_its_own_demonstration(tmp_path: Path) -> None:
    text = FLAT.format(file="rows.jsonl") + 'title = "Boats of {n}"\n'
    dataset = described(tmp_path / "boats", text, rows__jsonl=ROWS)
    source = dataset.open(tmp_path / "boats")
    pool = DemonstrationPool(source.pool, lambda table: table)
    assert [pool.draw(source.example(name), 2) for name in ("1", "2")] == [[1], [0]]


def test_questions_about_one_table_share_the_object(tmp_path: Path) -> None:
    text = FLAT.format(file="all.json").replace("[rows]", '[rows]\nat = "*.questions.*"')
    text = text.replace('cells = "t"', 'cells = "^t"')
    questions = [{"n": number, "q": "Who?", "a": "Ada"} for number in range(3)]
    content = [{"t": CELLS, "questions": questions[:2]}, {"t": CELLS, "questions": questions[2:]}]
    dataset = described(tmp_path / "boats", text, all__json=content)
    first, second, third = (e.inputs["table"] for e in examples(dataset, tmp_path / "boats"))
    assert first is second
    assert third == first
    assert third is not first


def test_tables_with_equal_cells_and_different_headers_are_two(tmp_path: Path) -> None:
    text = FLAT.format(file="all.json").replace("[rows]", '[rows]\nat = "*.questions.*"')
    text = text.replace('cells = "t"', 'cells = "^t"\nheader = "h"')
    questions = [{"n": number, "q": "Who?", "a": "Ada", "h": [f"c{number}"]} for number in (0, 1)]
    content = [{"t": [["x"]], "questions": questions}]
    dataset = described(tmp_path / "boats", text, all__json=content)
    headers = [e.inputs["table"].header for e in examples(dataset, tmp_path / "boats")]
    assert headers == [("c0",), ("c1",)]
