"""`tablebench check` and `tablebench new`."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from tests.support.own_folders import workbook, write_folder

Check = Callable[..., tuple[int, list[str]]]

PEOPLE = "name,age,city\nAnn,36,Rome\nBo,41,Oslo\nAnn,12,Bern\n"
HEAD = "table,question,answer\n"


def question(text: str, answer: str, more: str = "") -> dict[str, str | bytes]:
    """Return a folder with a question about three people; `more` is a further column and value."""
    name, _, value = more.partition("=")
    head = f"table,question,answer{f',{name}' if name else ''}\n"
    row = f"people.csv,{text},{answer}{f',{value}' if name else ''}\n"
    return {"people.csv": PEOPLE, "questions.csv": head + row}


def table(text: str | bytes, name: str = "t.csv") -> dict[str, str | bytes]:
    """Return a folder with one question and this table."""
    return {name: text, "questions.csv": f"{HEAD}{name},Is it so?,yes\n"}


@pytest.fixture
def check(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> Check:
    """Return a function that checks a folder with these files: exit code and lines of output."""

    def run(files: Mapping[str, str | bytes], *options: str) -> tuple[int, list[str]]:
        write_folder(tmp_path / "mine", files)
        code = main(["check", str(tmp_path), *options])
        return code, capsys.readouterr().out.splitlines()

    return run


Q, T = "mine/questions.csv", "mine/t.csv"
BROKEN: dict[str, tuple[dict[str, str | bytes], str]] = {
    "settings": (
        {**question("Who is 41?", "Bo"), "tablebench.toml": "nam = 'x'"},
        "unknown key 'nam'",
    ),
    "unreadable table": (table(b"PK\3\4", "t.xlsx"), "t.xlsx: is not a workbook"),
    "ragged row": (table("a,b\n1,2\n3\n"), "t.csv: line 3: 1 cell, the header has 2"),
    "open quote": (table('a,b\n"1,2\n'), "t.csv: line 2: unexpected end of data"),
    "empty table": (table(""), "t.csv: is empty"),
    "header alone": (table("a,b\n"), f"{T}, field 'table': has a header and no row"),
    "two headers": (
        table("Report,2024\nName,Sales\nTea,3\nCocoa,4\n"),
        f"{T}, row 2, field 'row': looks like a second header",
    ),
    "column without a name": (table("a,\n1,2\n"), f"{T}, row 1, field 'column 2': has no name"),
    "columns of one name": (
        table("a,a\n1,2\n"),
        f"{T}, row 1, field 'a': is the name of several columns",
    ),
    "too long": (
        table("a,b\n" + "some words in a cell,1\n" * 14_000),
        f"{T}, field 'table': is about 136,500 tokens long as HTML, and most models read at most "
        "128,000; keep only the rows and columns that the questions are about, or ask with "
        "--bench-strategy=tools",
    ),
    "same question": (
        {"questions.csv": "question,answer\nIs it so?,yes\nis it  so?,no\n"},
        f"{Q}, row 3, field 'question': repeats row 2",
    ),
    "ambiguous look-up": (
        question("How old is Ann?", "36"),
        f"{Q}, row 2, field 'question': fits several rows: 'ann' is in rows 2 and 4",
    ),
    "answer in no cell": (
        question("Where does Bo live?", "Bergen"),
        f"{Q}, row 2, field 'answer': 'Bergen' is in no cell",
    ),
    "item in no cell": (question("Who are they?", "Bo | Cy"), "'Cy' is in no cell"),
    "answer of another type": (
        question("What is the age of Bo?", "forty-one"),
        "'forty-one' is text, and the column 'age' has numbers",
    ),
    "no number": (
        question("What is the age of Bo?", "old", "metric=number"),
        f"{Q}, row 2, field 'answer': 'old' is not a number",
    ),
    "no date": (
        question("When was Bo born?", "long ago", "metric=date"),
        f"{Q}, row 2, field 'answer': 'long ago' is not a date",
    ),
    "leaking answer": (
        question("Does Bo live in Oslo?", "Oslo"),
        f"{Q}, row 2, field 'question': contains its answer 'Oslo'",
    ),
    "unknown metric": (
        question("Who is 41?", "Bo", "metric=txt"),
        f"{Q}, row 2, field 'metric': unknown metric 'txt'; did you mean 'text' or",
    ),
    "unknown perturbation": (
        question("How old is Bo?", "41", "perturbations=shufle_rows"),
        f"{Q}, row 2, field 'perturbations': unknown perturbation 'shufle_rows'; did you mean",
    ),
    "serializer of the settings": (
        {
            **question("Who is 41?", "Bo"),
            "tablebench.toml": "[defaults]\nserializers = ['htlm']\n",
        },
        "mine/tablebench.toml, field 'serializers': unknown serializer 'htlm'; did you mean 'html'",
    ),
    "bars between cells": (table("a|b\n1|2\n"), f"{T}, row 1, field 'separator': looks separated"),
    "a quote left open": (
        table("a,b\n1," + "x" * 300_000 + "\n"),
        f"{T}, row 2, field 'b': has a cell of 300,000 characters",
    ),
    "a place under shuffled rows": (
        question("Who is in the first row?", "Ann"),
        f"{Q}, row 2, field 'perturbations': asks for 'first row', which shuffle_rows moves",
    ),
    "a column's place": (
        question("Is the second column the age?", "yes", "perturbations=none | shuffle_cols"),
        f"{Q}, row 2, field 'perturbations': asks for 'second column', which shuffle_cols moves",
    ),
    "dates that are read in two ways": (
        table("a,b\n03/05/2024,1\n04/04/2024,2\n"),
        f"{T}, field 'a': dates such as '03/05/2024' can be read in two ways",
    ),
    "free text without facts": (
        question("What is to be seen?", "They are people.", "metric=free_text"),
        f"{Q}, row 2, field 'answer': is free text, and is compared by its words",
    ),
    "facts of a number": (
        {
            "people.csv": PEOPLE,
            "questions.csv": "table,question,answer,metric,must\npeople.csv,Who?,41,number,41\n",
        },
        f"{Q}, row 2, field 'must': is for free text; leave out the metric 'number'",
    ),
    "decimal sign": (
        {
            "t.csv": "Lager;Menge\nKiel;12.500\nBonn;17\nUlm;1.380\n",
            "questions.csv": f"{HEAD}t.csv,Wie groß ist die Menge in Kiel?,12.500\n",
        },
        f"{Q}, row 2, field 'decimal': '12.500' in 'Menge' can be read in two ways",
    ),
    "aliases": (
        question("Who are they?", "Ann | Bo", "aliases=Annie"),
        f"{Q}, row 2, field 'aliases': belong to one answer",
    ),
}


@pytest.mark.parametrize("case", BROKEN)
def test_each_mistake_has_a_line_of_output(case: str, check: Check) -> None:
    files, said = BROKEN[case]
    code, (line, last) = check(files)
    assert (code, said in line) == (1, True), line
    assert last.startswith("mine: ")
    assert last.endswith(", 1 problem")


SOUND: dict[str, dict[str, str | bytes]] = {
    "an error in a row": table("a,b\n#DIV/0!,#N/A\n1,2\n3,4\n"),
    "a decimal sign in the row": {
        "t.csv": "Lager;Menge\nKiel;12.500\nBonn;17\n",
        "questions.csv": 'table,question,answer,decimal\nt.csv,Wie viel in Kiel?,12.500,","\n',
    },
    "a decimal sign of another column": {
        "t.csv": "Lager;Menge;Preis\nKiel;12.500;2,5\nBonn;17;3,5\n",
        "questions.csv": f"{HEAD}t.csv,Wie viel in Kiel?,12.500\n",
    },
    "a place that stays": question("Who is in the first row?", "Ann", "perturbations=none"),
    "dates that tell their order": table("a,b\n03/05/2024,1\n13/05/2024,2\n"),
    "free text with facts": {
        "people.csv": PEOPLE,
        "questions.csv": "table,question,answer,must,must_not\n"
        "people.csv,What is to be seen?,Two are called Ann.,Ann | two / 2,Bo\n",
    },
    "a number of rows": question("How many are called Ann?", "2"),
    "one of two rows": question("How old is Ann of Bern?", "12"),
    "a greatest value": question("Who is oldest?", "Bo"),
    "one of two names": question("Is Bo or Ann older?", "Bo"),
    "a statement": question("Is Bo 41?", "yes"),
    "a sum": question("How old are all together?", "89"),
}


@pytest.mark.parametrize("case", SOUND)
def test_a_valid_folder_has_no_line_of_output(case: str, check: Check) -> None:
    code, [line] = check(SOUND[case])
    assert code == 0, line
    assert line.startswith("mine: 1 question (1 ")
    assert line.endswith("), no problem")


def test_the_example_written_by_new_has_no_mistake(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["new", str(tmp_path / "mine")]) == 0
    assert f"tablebench check {tmp_path / 'mine'}" in capsys.readouterr().out
    assert main(["check", str(tmp_path / "mine")]) == 0
    assert capsys.readouterr().out == "mine: 4 questions (2 number, 1 text, 1 list), no problem\n"


def test_check_names_the_encoding_of_a_file(check: Check) -> None:
    latin = "name,age\nJosé,3\n".encode("latin-1")
    code, lines = check({"t.csv": latin, "questions.csv": f"{HEAD}t.csv,Who is 3?,José\n"})
    assert (code, lines[0]) == (0, "mine: t.csv was read as latin-1")


def test_new_overwrites_nothing(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "questions.csv").write_text("mine")
    assert main(["new", str(tmp_path)]) == 2
    assert "is not empty" in capsys.readouterr().err
    assert (tmp_path / "questions.csv").read_text() == "mine"


def test_check_refuses_a_folder_without_a_dataset(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["check", str(tmp_path)]) == 2
    assert "no dataset in" in capsys.readouterr().err


def test_fix_corrects_only_unambiguous_mistakes(tmp_path: Path, check: Check) -> None:
    questions = (
        "id;table;question;answer\r\n"
        'a;t.csv;"Who\nis 3?";José\r\n'
        ";t.csv;Who is 4?;Ann\r\n"
        ";t.csv;Who is 4?;Ann\r\n"
        'a;t.csv;"How old; is Ann?";4\r\n'
        "a;t.csv;How old is José?;3\r\n"
        "b;t.csv;Who is 4?;José\r\n"
    )
    latin = "sep=,\nname,,age,\nJosé,,3,\nAnn,,4,\n".encode("latin-1")
    code, lines = check({"questions.csv": questions, "t.csv": latin}, "--fix")
    assert code == 1
    assert lines == [
        "mine: fixed: questions.csv, row 5: removed, because it repeats row 4",
        "mine: fixed: questions.csv, row 6: id changed to a-2",
        "mine: fixed: questions.csv, row 7: id changed to a-3",
        "mine: fixed: t.csv: column 2 removed, because it is empty",
        "mine: fixed: t.csv: column 4 removed, because it is empty",
        # Which of the two answers is meant, nobody but the author knows.
        "mine/questions.csv, row 8, field 'question': repeats row 4; remove one of them",
        "mine: 5 questions (3 text, 2 number), 1 problem",
    ]
    folder = tmp_path / "mine"
    assert (folder / "t.csv").read_bytes().decode() == "sep=,\nname,age\nJosé,3\nAnn,4\n"
    # Row numbers are the ids of rows without one, so no line is removed.
    changed = questions.replace(";t.csv;Who is 4?;Ann\r\n" * 2, ";t.csv;Who is 4?;Ann\r\n\r\n")
    changed = changed.replace('a;t.csv;"How', 'a-2;t.csv;"How').replace(
        "a;t.csv;How", "a-3;t.csv;How"
    )
    assert (folder / "questions.csv").read_bytes().decode() == changed


def test_fix_corrects_json_lines(tmp_path: Path, check: Check) -> None:
    row = '{"question": "Is it so?", "answer": "yes", "id": "x"}\n'
    other = '{"question": "Is it not?", "answer": "no", "id": "x"}\n'
    code, lines = check({"questions.jsonl": f"{row}{row}{other}no row\n"}, "--fix")
    assert code == 1
    assert any("row 4, field 'row': is not JSON" in line for line in lines)
    text = (tmp_path / "mine/questions.jsonl").read_text("utf-8")
    assert text == f"{row}\n{other.replace('x', 'x-2')}no row\n"


def test_check_knows_what_a_conftest_of_the_folder_registers(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    conftest = (
        "from pytest_tablebench.metrics import Score\n"
        "def mine(prediction, references, **_):\n    return Score(1.0)\n"
        "def pytest_tablebench_register_metric(register):\n    register('mine', mine)\n"
    )
    files = {**question("Who is 41?", "Bo", "metric=mine"), "conftest.py": conftest}
    write_folder(tmp_path / "mine", files)
    assert main(["check", str(tmp_path / "mine")]) == 0, capsys.readouterr().out
    (tmp_path / "mine" / "conftest.py").unlink()
    assert main(["check", str(tmp_path / "mine")]) == 1
    assert "unknown metric 'mine'" in capsys.readouterr().out


TWO_HEADERS = (
    "<table><thead><tr><th rowspan=2>City</th><th colspan=2>2023</th></tr><tr><th>H1</th>"
    "<th>H2</th></tr></thead><tr><td>Kiel</td><td>1</td><td>2</td></tr></table>"
)


@pytest.mark.parametrize(
    ("answer", "in_table", "code"),
    [("H1 2023", "", 0), ("2023 H2", "", 0), ("H3 2023", "", 1), ("n/a", "", 1), ("n/a", "no", 0)],
)
def test_an_answer_in_no_cell_is_accepted_if_it_is_meant(
    answer: str, in_table: str, code: int, check: Check
) -> None:
    rows = f"table,question,answer,in_table\nt.html,Which half is best?,{answer},{in_table}\n"
    assert check({"t.html": TWO_HEADERS, "questions.csv": rows})[0] == code


def test_a_sheet_that_cannot_be_read_is_not_called_unused(tmp_path: Path, check: Check) -> None:
    workbook(tmp_path / "b.xlsx", A=[["n"], [1]], B=[["n"], ["=1+1"]])  # never calculated
    rows = f"{HEAD}b.xlsx#A,What is n?,1\nb.xlsx#B,What is n?,2\n"
    code, lines = check({"b.xlsx": (tmp_path / "b.xlsx").read_bytes(), "questions.csv": rows})
    assert code == 1
    assert "never calculated" in "".join(lines)
    assert "no question names" not in "".join(lines)


def test_new_from_a_file_of_the_same_folder(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_folder(tmp_path / "mine", {"rows.csv": "question,answer\nWho?,Bo\n"})
    file = tmp_path / "mine" / "rows.csv"
    assert main(["new", str(tmp_path / "mine"), "--from", str(file)]) == 0, capsys.readouterr()
    assert (tmp_path / "mine" / "tablebench.toml").is_file()
