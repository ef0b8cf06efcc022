"""A folder of one's own is a dataset: what is read of it, and what is said of the rest."""

from __future__ import annotations

import json
import sys
import zipfile
from pathlib import Path

import openpyxl
import pytest

from pytest_tablebench.datasets import defaults_of, text_key
from pytest_tablebench.datasets._sources import RowSource
from pytest_tablebench.datasets.folder import FolderDataset, _workbook, folder_datasets
from pytest_tablebench.datasets.folder._questions import Question
from pytest_tablebench.metrics._charts import realhit_chart
from pytest_tablebench.metrics._realhit_judge import realhit_judged
from pytest_tablebench.tables.table import Table
from tests.support.own_folders import PRICES, QUESTIONS, write_folder


def only(data: Path) -> FolderDataset:
    (found,) = folder_datasets(data)
    return found


def opened(data: Path, files: dict[str, str | bytes]) -> RowSource[Question]:
    """Write a folder and open it."""
    folder = write_folder(data / "mine", files)
    return only(data).open(folder)


def problems(data: Path) -> list[str]:
    """What is said of the only folder."""
    found = only(data)
    return [str(problem) for problem in found.open(data / found.folder).problems]


def asked(table: str, files: dict[str, str | bytes], tmp_path: Path) -> list[str]:
    """What is said of a folder with one question about `table`, beside a good one."""
    questions = f"table,question,answer\n{table},How many?,3\nprices.csv,What does tea cost?,2.40\n"
    write_folder(tmp_path / "mine", {"prices.csv": PRICES, "questions.csv": questions, **files})
    source = only(tmp_path).open(tmp_path / "mine")
    assert source.example_ids(None) == ["3"]  # the good one runs
    return [str(problem) for problem in source.problems]


def test_folders_are_found_in_order_and_the_folder_itself(tmp_path: Path) -> None:
    write_folder(tmp_path / "two")
    write_folder(tmp_path / "one")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/prices.csv").write_text(PRICES)
    assert [found.name for found in folder_datasets(tmp_path)] == ["one", "two"]
    (found,) = folder_datasets(tmp_path / "one")
    assert (found.name, found.folder) == ("one", ".")
    assert list(folder_datasets(tmp_path / "absent")) == []


def test_what_was_pulled_is_left_to_its_own_reader(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "wikitq")
    (folder / ".tablebench-pull.json").write_text("{}")
    assert list(folder_datasets(tmp_path)) == []


def test_an_example_has_its_table_question_and_answers(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    source = only(tmp_path).open(folder)
    assert source.example_ids(None) == ["cheap", "coffee"]
    example = source.example("cheap")
    assert example.question == "Which product costs 2.40?"
    assert example.references == ("tea",)
    assert example.inputs["table"] == Table(
        ["product", "price"], [["tea", "2.40"], ["coffee", "3.10"]]
    )
    assert set(source.facts.files) == {"prices.csv", "questions.csv"}


def test_a_question_is_no_demonstration_of_itself(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    source = only(tmp_path).open(folder)
    assert len(source.pool) == 2
    assert source.pool.key(0) == text_key(source.example("cheap"))
    assert source.pool.key(1) != text_key(source.example("cheap"))


def test_the_settings_file_names_and_arranges(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    (folder / "tablebench.toml").write_text(
        'name = "price list"\nbenchmark = "shop"\nlicence = "CC BY 4.0"\n'
        '[defaults]\nshots = 1\nlimit = 5\nthreshold = 0.5\nserializers = ["csv"]\n'
        'strategy = "tcot"\nmodality = ["text", "image"]\nparams = { max_tokens = 200 }\n'
    )
    found = only(tmp_path)
    assert (found.name, found.benchmark, found.shots) == ("price_list", "shop", 1)
    assert (found.limit, found.threshold, found.serializers) == (5, 0.5, ("csv",))
    assert found.open(folder).facts.notes == ("licence: CC BY 4.0",)
    declared = defaults_of(found)
    assert (declared.strategy, declared.modality) == (("tcot",), ("text", "image"))
    assert (declared.params, declared.perturbations) == ({"max_tokens": 200}, ())


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("name = 3", "tablebench.toml: name must be a text"),
        ("nam = 'x'", "unknown key 'nam'; did you mean 'name'?"),
        ("name = ", "tablebench.toml: Invalid value"),
        ("[defaults]\nshots = -1", "tablebench.toml: shots must be a whole number"),
        ("[defaults]\nthreshold = 2", "threshold must be a number from 0 to 1"),
        ("[defaults]\nparams = 7", "params must be names and values: { max_tokens = 200 }"),
        ("[defaults.params]\napi_key = 'x'", "params cannot set api_key, which has an option"),
    ],
)
def test_a_wrong_settings_file_is_said(text: str, said: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "mine")
    (tmp_path / "mine/tablebench.toml").write_text(text)
    (problem,) = problems(tmp_path)
    assert said in problem


def test_a_name_that_is_taken_is_said(tmp_path: Path) -> None:
    write_folder(tmp_path / "starter")
    (found,) = folder_datasets(tmp_path, taken={"starter"})
    assert found.name == "starter_2"
    source = found.open(tmp_path / "starter")
    assert source.example_ids(None) == []
    assert "the name 'starter' is taken" in str(source.problems[0])


def test_json_lines_hold_lists_and_other_columns(tmp_path: Path) -> None:
    row = {
        "table": ["prices.csv", "more.csv"],
        "question": "Which are dear?",
        "answer": ["coffee", 7],
        "aliases": {"coffee": ["mocha"]},
        "tags": {"type": "list"},
        "perturbations": ["none", "shuffle_rows"],
    }
    files = {"prices.csv": PRICES, "more.csv": PRICES, "questions.jsonl": json.dumps(row) + "\n"}
    source = opened(tmp_path, files)
    example = source.example("1")
    assert list(example.inputs) == ["question", "table 1", "table 2"]
    assert example.references == ("coffee", "7")
    assert example.context["aliases"] == {"coffee": ("mocha",)}
    assert example.tags == {"type": "list", "answer": "list"}
    assert source.does_not_apply("1", "html", "shuffle_rows") is None
    assert source.does_not_apply("1", "html", "none") is None
    assert source.does_not_apply("1", "html", "transpose") == "the question does not allow it"


def test_cells_of_a_csv_hold_lists_too(tmp_path: Path) -> None:
    questions = (
        "question,answer,aliases,tags,title,table\n"
        "Which is dear?,coffee,mocha | latte,type=lookup | level=1,Price list,prices.csv\n"
        "Which two?,tea | coffee,,,,prices.csv\n"
        "What is 1 + 1?,2,,,,\n"
    )
    files = {"prices.csv": PRICES, "questions.csv": questions}
    source = opened(tmp_path, files)
    first, second, third = (source.example(name) for name in source.example_ids(None))
    assert first.context["aliases"] == {"coffee": ("mocha", "latte")}
    assert first.tags.items() >= {"type": "lookup", "level": "1"}.items()
    assert first.inputs["table"].title == "Price list"
    assert second.references == ("tea", "coffee")
    assert list(third.inputs) == ["question"]
    assert source.does_not_apply("4", "html", "none") is None
    assert source.does_not_apply("4", "csv", "transpose") == "there is no table to rearrange"
    assert source.does_not_apply("2", "csv", "transpose") is None
    prompt = only(tmp_path).prompt(third, lambda table: "")
    assert "table alone" not in prompt.instruction
    assert prompt.source == "Question: What is 1 + 1?\n"


def workbook(path: Path, **sheets: list[list[object]]) -> None:
    book = openpyxl.Workbook()
    book.remove(book.worksheets[0])
    for title, rows in sheets.items():
        sheet = book.create_sheet(title)
        for row in rows:
            sheet.append(row)
    book.save(path)


def test_a_workbook_gives_tables_by_sheet_and_questions(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine", {})
    workbook(folder / "shop.xlsx", Tea=[["kind", "price"], ["green", 2.5]], Rest=[["a"], [1]])
    workbook(
        folder / "questions.xlsx",
        Q=[
            ["table", "question", "answer"],
            ["shop.xlsx#Tea", "What does green tea cost?", 2.5],
            ["shop.xlsx#Rest", "How many?", 1.0],
            ["shop.xlsx#Coffee", "How many?", 1],
        ],
    )
    source = only(tmp_path).open(folder)
    first, second = (source.example(name) for name in source.example_ids(None))
    assert first.references == ("2.5",)
    assert first.inputs["table"] == Table(["kind", "price"], [["green", 2.5]])
    assert second.references == ("1",)
    (problem,) = source.problems
    assert (problem.row, problem.field) == (4, "table")
    assert "unknown sheet 'Coffee'" in problem.message


def test_tsv_html_and_semicolons(tmp_path: Path) -> None:
    files = {
        "a.tsv": "x\ty\n1\t2\n",
        "b.html": "<table><tr><th>x</th></tr><tr><td>1</td></tr></table>",
        "c.csv": "x;y\n1,5;2\n",
        "questions.csv": "table,question,answer\na.tsv,q,1\nb.html,q,1\nc.csv,q,1\n",
    }
    source = opened(tmp_path, files)
    tables = [source.example(name).inputs["table"] for name in source.example_ids(None)]
    assert [table.rows for table in tables] == [(("1", "2"),), (("1",),), (("1,5", "2"),)]


@pytest.mark.parametrize(
    ("data", "encoding"),
    [
        ("name\nJosé\n".encode("latin-1"), "latin-1"),
        ("name\nJosé €\n".encode("cp1252"), "cp1252"),
        ("name\nJosé\n".encode("utf-16"), "utf-16"),
        ("name\nJosé\n".encode("utf-16-le"), "utf-16-le"),
    ],
)
def test_other_encodings_are_read_and_said(data: bytes, encoding: str, tmp_path: Path) -> None:
    files = {"a.csv": data, "questions.csv": "table,question,answer\na.csv,Who?,José\n"}
    source = opened(tmp_path, files)
    assert source.example("2").inputs["table"].rows[0][0].startswith("José")
    assert source.facts.notes == (f"a.csv was read as {encoding}",)


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"questions.csv": "table,question,answer\n"}, "there is none"),
        ({"questions.csv": ""}, "there is none"),
        ({"questions.csv": "table,question\na,b\n"}, "there is no column 'answer'"),
        ({"questions.csv": "question,answer,tabel\n"}, "unknown column 'tabel'; did you mean"),
        ({"tablebench.toml": ""}, "no questions: it needs one of questions.csv"),
        ({"questions.csv": QUESTIONS, "questions.jsonl": ""}, "which are the questions?"),
    ],
)
def test_a_folder_without_questions(files: dict[str, str], said: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "mine", dict(files))
    (problem,) = problems(tmp_path)
    assert said in problem
    assert problem.startswith("mine/questions.")


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("prices.csv,,3", "row 2, field 'question': is empty"),
        ("prices.csv,How many?,", "row 2, field 'answer': is empty"),
        ("absent.csv,How many?,3", "row 2, field 'table': absent.csv: no such file"),
        ("prices.pdf,How many?,3", "row 2, field 'table': prices.pdf: a table is a file of"),
        ("/etc/passwd.csv,How many?,3", "name a file inside the folder"),
        ("../secret.csv,How many?,3", "name a file inside the folder"),
        ("..\\secret.csv,How many?,3", "name a file inside the folder"),
        ("C:\\secret.csv,How many?,3", "name a file inside the folder"),
        ("prices.csv,How many?,3,4", "row 2, field 'row': holds 4 cells, the header has 3"),
    ],
)
def test_a_row_that_cannot_be_asked(row: str, said: str, tmp_path: Path) -> None:
    questions = f"table,question,answer\n{row}\nprices.csv,What does tea cost?,2.40\n"
    (tmp_path / "secret.csv").write_text(PRICES)
    folder = write_folder(tmp_path / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    source = only(tmp_path).open(folder)
    assert source.example_ids(None) == ["3"]
    (problem,) = source.problems
    assert said in str(problem)


def test_a_link_out_of_the_folder_is_not_followed(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text("a\nhidden\n")
    folder = tmp_path / "mine"
    questions = "table,question,answer\nlink.csv,What?,3\nprices.csv,What?,2.40\n"
    write_folder(folder, {"prices.csv": PRICES, "questions.csv": questions})
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    (problem,) = problems(tmp_path)
    assert "leads out of" in problem
    assert "row 2" in problem


def test_questions_that_are_a_link_out_of_the_folder_are_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(QUESTIONS)
    folder = write_folder(tmp_path / "mine", {"prices.csv": PRICES})
    (folder / "questions.csv").symlink_to(tmp_path / "secret.csv")
    (problem,) = problems(tmp_path)
    assert "leads out of" in problem


def test_a_ragged_table_is_said_with_its_line(tmp_path: Path) -> None:
    (problem,) = asked("bad.csv", {"bad.csv": "a,b\n1,2\n3\n"}, tmp_path)
    assert problem.startswith("mine/questions.csv, row 2, field 'table': bad.csv: line 3: 1 cell")


def test_a_table_of_300_000_rows_is_not_read_to_its_end(tmp_path: Path) -> None:
    (problem,) = asked("long.csv", {"long.csv": "a\n" + "1\n" * 300_000}, tmp_path)
    assert "long.csv: more than 100,000 rows" in problem


def test_a_long_sheet_is_not_read(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_workbook, "MOST_ROWS", 3)
    workbook(tmp_path / "l.xlsx", S=[["a"], [1], [2], [3], [4]])
    (problem,) = asked("l.xlsx", {"l.xlsx": (tmp_path / "l.xlsx").read_bytes()}, tmp_path)
    assert "l.xlsx: has a sheet of more than 3 rows" in problem


def test_what_would_fill_the_memory_is_not_read(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(_workbook, "_MOST_CELLS", 5)
    workbook(tmp_path / "w.xlsx", S=[["a", "b", "c"], [1, 2, 3]])
    wide = {"w.xlsx": (tmp_path / "w.xlsx").read_bytes(), "w.csv": "a,b\n" + "1," * 600_000}
    (problem,) = asked("w.xlsx", wide, tmp_path)
    assert "w.xlsx: has a sheet of more than 5 cells" in problem
    (tmp_path / "mine/questions.csv").write_text("table,question,answer\nw.csv,How many?,3\n")
    (problem,) = problems(tmp_path)
    assert "w.csv: line 2: longer than 1,000,000 characters" in problem


def test_several_tables_stand_in_the_prompt_in_order(tmp_path: Path) -> None:
    files = {
        "a.csv": "x\n1\n",
        "b.csv": "y\n2\n",
        "questions.csv": "table,question,answer\na.csv | b.csv,What is x + y?,3\n",
    }
    example = opened(tmp_path, files).example("2")
    prompt = only(tmp_path).prompt(example, lambda table: f"<{table.header[0]}>")
    assert prompt.source == "Table 1:\n<x>\n\nTable 2:\n<y>\n\nQuestion: What is x + y?\n"


def test_a_password_is_said(tmp_path: Path) -> None:
    locked = bytes.fromhex("d0cf11e0a1b11ae1") + b"\0" * 600
    (problem,) = asked("locked.xlsx", {"locked.xlsx": locked}, tmp_path)
    assert "locked.xlsx: is protected by a password" in problem


def test_formulas_that_were_never_calculated_are_said(tmp_path: Path) -> None:
    workbook(tmp_path / "f.xlsx", S=[["a", "b"], [1, "=A2+1"]])
    (problem,) = asked("f.xlsx", {"f.xlsx": (tmp_path / "f.xlsx").read_bytes()}, tmp_path)
    assert "f.xlsx: cell B2 holds a formula that was never calculated" in problem


def test_a_zip_bomb_is_not_unpacked(tmp_path: Path) -> None:
    workbook(tmp_path / "b.xlsx", S=[["a"], [1]])
    with (
        zipfile.ZipFile(tmp_path / "b.xlsx", "a", zipfile.ZIP_DEFLATED) as archive,
        archive.open("xl/media/zeros", "w") as stream,
    ):
        for _ in range(201):
            stream.write(b"\0" * (1 << 20))
    (problem,) = asked("b.xlsx", {"b.xlsx": (tmp_path / "b.xlsx").read_bytes()}, tmp_path)
    assert "and is not unpacked" in problem


def test_a_workbook_with_macros_is_read_and_nothing_of_it_run(tmp_path: Path) -> None:
    workbook(tmp_path / "m.xlsx", S=[["a"], [1]])
    with zipfile.ZipFile(tmp_path / "m.xlsx", "a") as archive:
        archive.writestr("xl/vbaProject.bin", b"macro")
    files = {
        "m.xlsm": (tmp_path / "m.xlsx").read_bytes(),
        "questions.csv": "table,question,answer\nm.xlsm,What?,1\n",
    }
    source = opened(tmp_path, files)
    assert source.example("2").inputs["table"].rows == ((1,),)


def test_what_is_no_workbook_is_said(tmp_path: Path) -> None:
    (problem,) = asked("x.xlsx", {"x.xlsx": b"hello"}, tmp_path)
    assert "x.xlsx: is no workbook" in problem


def test_parquet_without_its_package_says_what_to_install(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    (problem,) = asked("x.parquet", {"x.parquet": b"PAR1"}, tmp_path)
    assert "pip install 'pytest-tablebench[parquet]'" in problem


def test_parquet_is_read(tmp_path: Path) -> None:
    pytest.importorskip("pyarrow")
    import pandas as pd

    folder = write_folder(
        tmp_path / "mine", {"questions.csv": "table,question,answer\nx.parquet,What?,1\n"}
    )
    pd.DataFrame({"a": [1]}).to_parquet(folder / "x.parquet")
    source = only(tmp_path).open(folder)
    assert source.example("2").inputs["table"] == Table(["a"], [[1]])


def test_an_id_that_occurs_twice_is_said(tmp_path: Path) -> None:
    questions = "table,question,answer,id\nprices.csv,A?,1,x\nprices.csv,B?,2,x\n"
    write_folder(tmp_path / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    assert problems(tmp_path) == ["mine/questions.csv, row 3, field 'id': 'x' occurs a second time"]


def test_a_row_may_be_judged_by_metrics_that_look_at_the_table(tmp_path: Path) -> None:
    questions = (
        "table,question,answer,metric,tags\n"
        "prices.csv,Sum up.,Tea is cheap.,realhit_judged,subtype=Summary Analysis\n"
        'prices.csv,Draw a pie.,"[2.4, 3.1]",realhit_chart,subtype=PieChart Generation\n'
    )
    source = opened(tmp_path, {"prices.csv": PRICES, "questions.csv": questions})
    summary, pie = (source.example(name) for name in source.example_ids(None))
    asked = next(realhit_judged("Tea.", summary.references, **summary.context))
    said = asked.messages[0].content
    assert "Question: Sum up." in said
    assert "Coherence and coverage" in said
    assert "coffee" in said
    code = 'import pandas as pd\npd.read_excel("table.xlsx")\nplt.show()'
    run = next(realhit_chart(code, pie.references, **pie.context))
    assert "chart_type='PieChart Generation'" in run.runner
    (tmp_path / "table.xlsx").write_bytes(run.files["table.xlsx"])
    table = Table.from_xlsx(tmp_path / "table.xlsx")
    assert 2.4 in {cell for row in table.rows for cell in row}  # a number, not a text


def test_a_row_names_a_metric_and_a_threshold_of_its_own(tmp_path: Path) -> None:
    questions = (
        "table,question,answer,metric,threshold\n"
        "prices.csv,Which is dear?,coffee,f1_strings,0.5\n"
        "prices.csv,What does tea cost?,2.40,number,\n"
        "prices.csv,What of it?,tea,,2\n"
    )
    source = opened(tmp_path, {"prices.csv": PRICES, "questions.csv": questions})
    first, second = (source.example(name) for name in source.example_ids(None))
    assert (first.metric, first.threshold) == ("f1_strings", 0.5)
    assert (second.metric, second.threshold) == (None, None)
    assert first.context["table"].rows == first.inputs["table"].rows
    assert first.context["question"] == "Which is dear?"
    assert source.metrics == {"f1_strings": "mine/questions.csv, row 2"}
    (problem,) = source.problems
    assert (
        str(problem) == "mine/questions.csv, row 4, field 'threshold': must be a number from 0 to 1"
    )


def test_merged_cells_are_read_with_what_they_stand_over(tmp_path: Path) -> None:
    book = openpyxl.Workbook()
    sheet = book.worksheets[0]
    for row in (["product", "sales", None], [None, "2023", "2024"], ["tea", 3, 4]):
        sheet.append(row)
    sheet.merge_cells("B1:C1")
    book.save(tmp_path / "m.xlsx")
    html = (
        "<table><tr><th rowspan=2>product</th><th colspan=2>sales</th></tr>"
        "<tr><th>2023</th><th>2024</th></tr><tr><td>tea</td><td>3</td><td>4</td></tr></table>"
    )
    questions = (
        "table,question,answer,title\nm.xlsx,Sales of tea in 2024?,4,Shop\n"
        "m.html,Sales of tea in 2024?,4,\n"
    )
    files = {"m.xlsx": (tmp_path / "m.xlsx").read_bytes(), "m.html": html}
    source = opened(tmp_path, {**files, "questions.csv": questions})
    assert source.problems == []
    for name in source.example_ids(None):
        table = source.example(name).inputs["table"]
        assert table.is_structured
        assert table.path(0, 2).column == ("sales", "2024")
    assert source.example("2").inputs["table"].title == "Shop"
