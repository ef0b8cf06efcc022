"""A user's folder as a dataset: questions, settings and error messages."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from pytest_tablebench.datasets import defaults_of, text_key
from pytest_tablebench.datasets.folder import folder_datasets
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics._realhit import realhit_judged
from pytest_tablebench.metrics.charts import realhit_chart
from pytest_tablebench.metrics.steps import Ask, Execute
from pytest_tablebench.tables.table import Table
from tests.support.own_folders import (
    PRICES,
    QUESTIONS,
    only,
    opened,
    problems,
    write_folder,
)


def test_dataset_folders_are_listed_in_order_and_a_folder_itself_too(tmp_path: Path) -> None:
    write_folder(tmp_path / "two")
    write_folder(tmp_path / "one")
    (tmp_path / "other").mkdir()
    (tmp_path / "other/prices.csv").write_text(PRICES)
    assert [found.name for found in folder_datasets(tmp_path)] == ["one", "two"]
    (found,) = folder_datasets(tmp_path / "one")
    assert (found.name, found.folder) == ("one", ".")
    assert list(folder_datasets(tmp_path / "absent")) == []


def test_a_pulled_dataset_is_no_user_folder(tmp_path: Path) -> None:
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


def test_a_question_is_never_its_own_demonstration(tmp_path: Path) -> None:
    folder = write_folder(tmp_path / "mine")
    source = only(tmp_path).open(folder)
    assert len(source.pool) == 2
    assert source.pool.key(0) == text_key(source.example("cheap"))
    assert source.pool.key(1) != text_key(source.example("cheap"))


def test_the_settings_file_sets_name_and_layout(tmp_path: Path) -> None:
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
        ("name = 3", "tablebench.toml: line 1: name must be a text"),
        ('encoding = "gbq"', "tablebench.toml: line 1: unknown encoding 'gbq'"),
        ("nam = 'x'", "unknown key 'nam'; did you mean 'name'?"),
        ("name = ", "tablebench.toml: Invalid value"),
        ("[defaults]\nshots = -1", "tablebench.toml: line 2: shots must be a whole number"),
        ("[defaults]\nthreshold = 2", "threshold must be a number from 0 to 1"),
        ("[defaults]\nparams = 7", "params must be names and values: { max_tokens = 200 }"),
        ("[defaults.params]\napi_key = 'x'", "params cannot set api_key, which has an option"),
    ],
)
def test_an_invalid_settings_file_is_named(text: str, said: str, tmp_path: Path) -> None:
    write_folder(tmp_path / "mine")
    (tmp_path / "mine/tablebench.toml").write_text(text)
    (problem,) = problems(tmp_path)
    assert said in problem


def test_a_folder_name_keeps_its_letters_and_marks(tmp_path: Path) -> None:
    names = {
        "a-b c": "a_b_c",
        "gra\u0308ße": "gräße",
        "बिक्री": "बिक्री",
        "库存": "库存",
        "销售": "销售",
        "!?": "own",
    }
    for name in names:
        write_folder(tmp_path / name)
    assert {found.folder: found.name for found in folder_datasets(tmp_path)} == names


def test_two_datasets_of_one_name_are_an_error(tmp_path: Path) -> None:
    write_folder(tmp_path / "a b")
    with pytest.raises(SettingsError, match="a b has the name of a built-in dataset, a_b"):
        list(folder_datasets(tmp_path, taken={"a_b"}))
    write_folder(tmp_path / "a_b")
    with pytest.raises(SettingsError, match="a b and a_b have the same name, a_b; set another one"):
        list(folder_datasets(tmp_path))


def test_json_lines_can_contain_lists_and_further_columns(tmp_path: Path) -> None:
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


def test_cells_of_a_csv_can_contain_lists(tmp_path: Path) -> None:
    questions = (
        "question,answer,aliases,tags,title,table\n"
        "Which is dear?,coffee,mocha | latte,type=lookup | level=1,Price list,prices.csv\n"
        "Which two?,tea | coffee,,,,prices.csv\n"
        "What is 1 + 1?,2,,,,\n"
        'Which two again?,"[""tea"", ""coffee, black""]",,,,prices.csv\n'
        "What stands in brackets?,[1],,,,\n"
    )
    files = {"prices.csv": PRICES, "questions.csv": questions}
    source = opened(tmp_path, files)
    first, second, third, again, bracket = map(source.example, source.example_ids(None))
    assert again.references == ("tea", "coffee, black")
    assert bracket.references == ("[1]",)
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


@pytest.mark.parametrize(
    ("files", "said"),
    [
        ({"questions.csv": "table,question,answer\n"}, "there are no questions"),
        ({"questions.csv": ""}, "there are no questions"),
        ({"questions.csv": "table,question\na,b\n"}, "the column 'answer' is missing"),
        ({"questions.csv": "question,answer,tabel\n"}, "unknown column 'tabel'; did you mean"),
        ({"tablebench.toml": ""}, "no questions: it needs one of questions.csv"),
        ({"questions.csv": QUESTIONS, "questions.jsonl": ""}, "questions.jsonl; keep one of them"),
    ],
)
def test_a_folder_without_questions_is_refused(
    files: dict[str, str], said: str, tmp_path: Path
) -> None:
    write_folder(tmp_path / "mine", dict(files))
    (problem,) = problems(tmp_path)
    assert said in problem
    assert problem.startswith(("mine/questions.csv: ", "mine/questions.csv, field", "mine: "))


@pytest.mark.parametrize(
    ("row", "said"),
    [
        ("prices.csv,,3", "row 2, field 'question': is empty"),
        ("prices.csv,How many?,", "row 2, field 'answer': is empty"),
        ("absent.csv,How many?,3", "row 2, field 'table': absent.csv does not exist"),
        ("prices.pdf,How many?,3", "row 2, field 'table': prices.pdf: a table must be a file of"),
        ("/etc/passwd.csv,How many?,3", "name a file inside the folder"),
        ("../secret.csv,How many?,3", "name a file inside the folder"),
        ("..\\secret.csv,How many?,3", "name a file inside the folder"),
        ("C:\\secret.csv,How many?,3", "name a file inside the folder"),
        ("link.csv,How many?,3", "row 2, field 'table': link.csv: path 'link.csv' leads out of"),
        ("prices.csv,How many?,3,4", "row 2, field 'row': has 4 cells, the header has 3"),
    ],
)
def test_a_row_that_cannot_be_asked_is_named(row: str, said: str, tmp_path: Path) -> None:
    questions = f"table,question,answer\n{row}\nprices.csv,What does tea cost?,2.40\n"
    (tmp_path / "secret.csv").write_text(PRICES)
    folder = write_folder(tmp_path / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    (folder / "link.csv").symlink_to(tmp_path / "secret.csv")
    source = only(tmp_path).open(folder)
    assert source.example_ids(None) == ["3"]
    (problem,) = source.problems
    assert said in str(problem)


def test_a_questions_file_that_links_out_of_the_folder_is_not_read(tmp_path: Path) -> None:
    (tmp_path / "secret.csv").write_text(QUESTIONS)
    folder = write_folder(tmp_path / "mine", {"prices.csv": PRICES})
    (folder / "questions.csv").symlink_to(tmp_path / "secret.csv")
    (problem,) = problems(tmp_path)
    assert "leads out of" in problem


def test_a_row_can_name_metrics_that_use_the_table(tmp_path: Path) -> None:
    questions = (
        "table,question,answer,metric,tags\n"
        "prices.csv,Sum up.,Tea is cheap.,realhit_judged,subtype=Summary Analysis\n"
        'prices.csv,Draw a pie.,"[2.4, 3.1]",realhit_chart,subtype=PieChart Generation\n'
    )
    source = opened(tmp_path, {"prices.csv": PRICES, "questions.csv": questions})
    summary, pie = (source.example(name) for name in source.example_ids(None))
    asked = next(realhit_judged("Tea.", summary.references, **summary.context))
    assert isinstance(asked, Ask)
    said = asked.messages[0].content
    assert "Question: Sum up." in said
    assert "Coherence and coverage" in said
    assert "coffee" in said
    code = 'import pandas as pd\npd.read_excel("table.xlsx")\nplt.show()'
    run = next(realhit_chart(code, pie.references, **pie.context))
    assert isinstance(run, Execute)
    assert "chart_type='PieChart Generation'" in run.runner
    (tmp_path / "table.xlsx").write_bytes(run.files["table.xlsx"])
    table = Table.from_xlsx(tmp_path / "table.xlsx")
    assert 2.4 in {cell for row in table.rows for cell in row}  # a number, not a text


def test_a_row_can_name_a_metric_and_a_threshold(tmp_path: Path) -> None:
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
