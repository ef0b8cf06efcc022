"""`tablebench generate review`: the marks of two reviewers, their agreement, what is accepted."""

from __future__ import annotations

import csv
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.datasets.folder import check_dataset
from pytest_tablebench.generate.annotate.review import CRITERIA
from tests.support.own_folders import only

HEADER = ["id", "taken", *(f"{name}_{reviewer}" for reviewer in (1, 2) for name in CRITERIA)]
YES, NO, BLANK = ["yes"] * 4, ["yes", "no", "yes", "yes"], [""] * 4
MARKS = {
    "q1": (YES, ["x", "1", "TRUE", "y"]),
    "q2": (YES, NO),
    "q3": (NO, ["no", "no", "yes", "yes"]),
    "q4": (YES, BLANK),
    "q5": (BLANK, BLANK),
    "-q6": (YES, YES),
}


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    made = tmp_path / "mine"
    (made / "tables").mkdir(parents=True)
    (made / "tables/ages.csv").write_text("name,age\nAda,36\nBo,41\n", "utf-8")
    (made / "tables/other.csv").write_text("name,age\nCy,3\n", "utf-8")
    write_review(made)
    rows = [[name, "tables/ages.csv", f"{name}: how old is Ada?", "36", ""] for name in MARKS]
    rows.append(["q1-twin", "tables/other.csv", "How old is Cy?", "3", "x=y | twin_of=q1"])
    with (made / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([["id", "table", "question", "answer", "tags"], *rows])
    (made / "tablebench.toml").write_text("[defaults]\nlimit = 7\n", "utf-8")
    return made


def write_review(folder: Path, comma: str = ",", **marks: tuple[list[str], list[str]]) -> None:
    rows = [HEADER]
    for name, (first, second) in (MARKS | marks).items():
        shown = f"'{name}" if name.startswith("-") else name
        rows += [[shown, "yes", *first, *second], [shown, "no", *BLANK, *BLANK]]
    with (folder / "review.csv").open("w", encoding="utf-8-sig", newline="") as file:
        csv.writer(file, delimiter=comma).writerows(rows)


def test_states_and_agreement_are_printed(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert main(["generate", "review", str(folder)]) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[0].endswith(
        "review.csv: 6 questions: accepted 2, rejected 1, disputed 1, half reviewed 1, "
        "not reviewed 1"
    )
    # Both marked q1, q2, q3 and -q6. Relevance: yes-yes, yes-yes, yes-no, yes-yes.
    assert lines[1] == (
        "agreement on relevance: 3 of 4, kappa undefined, because one reviewer gave a single mark"
    )
    # Completeness: yes-yes, yes-no, no-no, yes-yes. Seen 3/4; by chance 3/4 x 2/4 + 1/4 x 2/4.
    assert lines[2] == "agreement on completeness: 3 of 4, kappa 0.50"
    assert "to be discussed: q2" in lines
    assert lines[-1].startswith("for the accepted ones: tablebench generate review ")


def test_the_accepted_questions_are_a_folder_with_their_twins(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    new = tmp_path / "new"
    assert main(["generate", "review", str(folder), "-o", str(new)]) == 0
    assert f"{new}: 3 questions" in capsys.readouterr().out
    kept = list(csv.DictReader((new / "questions.csv").read_text("utf-8").splitlines()))
    assert [row["id"] for row in kept] == ["q1", "-q6", "q1-twin"]
    dataset = only(new)
    assert check_dataset(dataset, new).problems == ()
    assert (new / "tablebench.toml").read_text("utf-8") == "[defaults]\nlimit = 7\n"
    assert main(["generate", "review", str(folder), "-o", str(new)]) == 2
    assert "cannot be written (File exists)" in capsys.readouterr().err


def test_a_spreadsheet_may_save_semicolons_and_one_half_is_a_state(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_review(folder, ";", **dict.fromkeys(MARKS, (YES, BLANK)))
    assert main(["generate", "review", str(folder)]) == 0
    out = capsys.readouterr().out
    assert "6 questions: half reviewed 6" in out
    assert "agreement" not in out
    assert main(["generate", "review", str(folder), "-o", str(folder / "x")]) == 2
    assert "no question is accepted by both reviewers" in capsys.readouterr().err


def test_a_file_with_columns_for_one_reviewer_is_half_a_review(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    lines = [["id", "taken", *CRITERIA], ["q1", "yes", *YES]]
    text = "\n".join(",".join(line) for line in lines)
    (folder / "review.csv").write_text(text, "utf-8")
    assert main(["generate", "review", str(folder)]) == 0
    assert "1 question: half reviewed 1" in capsys.readouterr().out


def test_a_mark_that_is_neither_yes_nor_no_is_named(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    write_review(folder, q2=(YES, ["yes", "yes", "perhaps", "yes"]))
    assert main(["generate", "review", str(folder)]) == 2
    error = capsys.readouterr().err
    assert "review.csv, row 4, feasibility_2: write yes or no, not 'perhaps" in error
    (folder / "review.csv").unlink()
    assert main(["generate", "review", str(folder)]) == 2


def test_a_table_outside_of_the_folder_is_not_copied(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "secret.csv").write_text("a\n1\n", "utf-8")
    text = (folder / "questions.csv").read_text("utf-8").replace("tables/ages", "../secret")
    (folder / "questions.csv").write_text(text, "utf-8")
    assert main(["generate", "review", str(folder), "-o", str(tmp_path / "new")]) == 2
    assert "the table ../secret.csv does not exist" in capsys.readouterr().err
