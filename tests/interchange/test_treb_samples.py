"""`tablebench generate treb`: dataset folders become TReB samples with tables in three formats."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.treb.treb import DATASETS
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.table import Table

ODD = 'port,a|b,"<b>x</b> & ""y"""\nAlba,"1,200",left | right\nBrig,-3,&lt;\n'


def folder(path: Path, *rows: dict[str, object]) -> Path:
    (path / "tables").mkdir(parents=True)
    (path / "tables/odd.csv").write_text(ODD, encoding="utf-8")
    (path / "tables/dashes.csv").write_text("a,b\n-,-\n", encoding="utf-8")
    text = "\n".join(json.dumps(row) for row in rows)
    (path / "questions.jsonl").write_text(text, encoding="utf-8")
    return path


def query(question: str, answer: object, table: str = "tables/odd.csv") -> dict[str, object]:
    tags = {"subtask": "Table_Query"}
    return {"table": table, "question": question, "answer": answer, "tags": tags, "title": "Odd"}


def test_a_folder_becomes_samples_that_are_equal_in_each_format(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    two_lines = Table(
        ("port", "2023", "2024"),
        (("Alba", 1, 2), ("Brig", 3, 4)),
        header_rows=(("", "ships", ""),),
        spans=(Span(0, 1, 1, 2),),
    )
    one = folder(
        tmp_path / "one",
        query("What has Alba?", "1,200"),
        query("Which ports are there?", ["Alba", "Brig"]),
        query("What has Alba in 2024?", "2", "tables/two.xlsx"),
        query("What is a?", "-", "tables/dashes.csv"),
        query("What is gone?", "-", "tables/gone.csv"),
        {"question": "How much is 2 and 2?", "answer": "4"},
    )
    two_lines.to_xlsx(one / "tables/two.xlsx")
    other = folder(tmp_path / "other", query("what  has ALBA?", "1,200"))
    out = tmp_path / "data/treb"
    assert main(["generate", "treb", str(one), str(other), "-o", str(out)]) == 0
    said = capsys.readouterr().out
    assert f"{out}: 4 samples of 2 tables" in said
    assert "by subtask: Table_Query 3, one 1" in said
    assert (
        "left out: table that changes when written as Markdown 1, duplicate 1, unreadable 1" in said
    )

    lines = (out / "Table_Query.jsonl").read_text("utf-8").splitlines()
    samples = [json.loads(line) for line in lines]
    file = samples[0]["file_path"][0]
    assert samples[0] == {
        "id": "Table_Query|one|1",
        "file_path": [file],
        "instruction": "",
        "question": "What has Alba?",
        "answer": "1,200",
        "title": ["Odd"],
        "columnslable": [1],
        "Table_markdown": [
            '| port | a\\|b | <b>x</b> & "y" |\n| --- | --- | --- |\n'
            "| Alba | 1,200 | left \\| right |\n| Brig | -3 | &lt; |"
        ],
        "Table_html": [
            "<table><thead><tr><th>port</th><th>a|b</th>"
            "<th>&lt;b&gt;x&lt;/b&gt; &amp; &quot;y&quot;</th></tr></thead>"
            "<tbody><tr><td>Alba</td><td>1,200</td><td>left | right</td></tr>"
            "<tr><td>Brig</td><td>-3</td><td>&amp;lt;</td></tr></tbody></table>"
        ],
        "number_answer": 1200.0,
    }
    assert (samples[1]["answer"], samples[1]["number_answer"]) == ("Alba, Brig", "")
    assert samples[2]["columnslable"] == [2]

    (dataset,) = [one for one in DATASETS if one.name == "treb_table_query"]
    read = {}
    for form in ("csv", "markdown", "html"):
        source = dataset.open(out)
        examples = [source.example(name) for name in source.example_ids(9)]
        assert {example.tags["read_from"] for example in examples} == {form}
        assert not any("fault" in example.tags for example in examples)
        read[form] = [example.inputs["table"].lines for example in examples]
        # Remove the format just read, so that the next of the three is read.
        shutil.rmtree(out / "csv", ignore_errors=True)
        if form == "csv":
            continue
        text = (out / "Table_Query.jsonl").read_text("utf-8")
        (out / "Table_Query.jsonl").write_text(text.replace("Table_markdown", "gone"), "utf-8")
    assert read["csv"] == read["markdown"] == read["html"]
    assert read["csv"][0] == (
        ("port", "a|b", '<b>x</b> & "y"'),
        ("Alba", "1,200", "left | right"),
        ("Brig", "-3", "&lt;"),
    )
    assert main(["generate", "treb", str(one), "-o", str(out)]) == 2
    assert "is not empty" in capsys.readouterr().err
