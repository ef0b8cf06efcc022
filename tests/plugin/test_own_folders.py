"""Data folders of users: node ids, selection, gates, workers, broken files."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.support.own_folders import PRICES, QUESTIONS, write_folder

SUITE = Path(__file__).parents[2].joinpath("suites/test_own.py").read_text(encoding="utf-8")
SMALL = ("--bench-no-page", "--bench-serializer=html", "--bench-perturbation=none")


class Place:
    """A folder with the suite of the package and a data folder."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester = pytester
        self.data = pytester.path / "data"
        self.data.mkdir()
        (pytester.path / "test_own.py").write_text(SUITE, encoding="utf-8")
        (pytester.path / "tea.jsonl").write_text('{"default": "tea"}\n', encoding="utf-8")

    def run(self, *arguments: str, page: bool = False) -> pytest.RunResult:
        return self.pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "--model", "tablebench/scripted:tea.jsonl", "--bench-data",
            "data", "--bench-results", "run", "--bench-store", "none", *SMALL[page:], *arguments,
        )  # fmt: skip

    def records(self) -> dict[str, str]:
        lines = (self.pytester.path / "run/records.jsonl").read_text("utf-8").splitlines()
        return {row["case_id"]: row["outcome"] for row in map(json.loads, lines)}


@pytest.fixture
def place(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("COLUMNS", "400")
    return Place(pytester)


OUTCOMES = {"mine/cheap/html/none": "right", "mine/coffee/html/none": "wrong"}


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "workers"])
def test_the_suite_runs_every_data_folder(place: Place, workers: tuple[str, ...]) -> None:
    write_folder(place.data / "mine")
    write_folder(place.data / "other")
    gate = ("--bench-gate", "mine.pass_rate >= 0.5", "--bench-gate-point")
    assert place.run(*gate, *workers).ret == 0
    assert place.records() == OUTCOMES | {
        "other/cheap/html/none": "right",
        "other/coffee/html/none": "wrong",
    }
    lines = (place.pytester.path / "run/records.jsonl").read_text("utf-8").splitlines()
    kinds = {row["example_id"]: row["part"] for row in map(json.loads, lines)}
    assert kinds == {"cheap": "text", "coffee": "number"}


def test_a_folder_is_selected_by_name_and_by_k(place: Place) -> None:
    write_folder(place.data / "mine")
    write_folder(place.data / "other")
    place.run("--bench-dataset", "mine")
    assert place.records() == OUTCOMES
    done = place.run("-k", "other and coffee", "--collect-only", "-q")
    assert "test_own.py::test_own[other-coffee-html-none]" in done.stdout.str()
    assert "cheap" not in done.stdout.str()


def test_an_unknown_folder_name_is_refused_with_a_suggestion(place: Place) -> None:
    write_folder(place.data / "mine")
    done = place.run("--bench-dataset", "mien")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*unknown dataset 'mien'; did you mean 'mine'?*"])


def test_without_a_data_folder_the_suite_collects_nothing(place: Place) -> None:
    (place.pytester.path / "test_other.py").write_text("def test_good():\n    pass\n")
    done = place.pytester.runpytest_inprocess("--bench-data", "data", "-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"passed": 1}
    assert "collected 1 item" in done.stdout.str()
    assert "test_own" not in done.stdout.str()


def test_formats_of_a_conftest_join_the_grid_of_a_folder(place: Place) -> None:
    write_folder(place.data / "mine")
    place.pytester.makeconftest(
        "def pytest_tablebench_register_serializer(register):\n"
        "    register('first_cell', lambda table: str(table.header[0]))\n"
    )
    none = ("--bench-perturbation", "none", "--bench-data", "data", "-p", "no:cacheprovider")
    done = place.pytester.runpytest_inprocess(*none, "--bench-limit", "1", "--collect-only", "-q")
    for name in ("first_cell", "html"):
        assert f"test_own[mine-cheap-{name}-none]" in done.stdout.str()


def test_a_registered_dataset_replaces_the_folder_of_its_name(place: Place) -> None:
    write_folder(place.data / "mine")
    place.pytester.makeconftest(
        "from pytest_tablebench.datasets import TableQuestions\n\n"
        "def pytest_tablebench_register_dataset(register):\n"
        "    register(TableQuestions('mine', ()))\n"
    )
    (place.pytester.path / "test_other.py").write_text("def test_good():\n    pass\n")
    done = place.pytester.runpytest_inprocess("--bench-data", "data", "-p", "no:cacheprovider")
    assert done.parseoutcomes() == {"passed": 1}


def test_a_broken_folder_is_skipped_and_the_others_run(place: Place) -> None:
    write_folder(place.data / "mine")
    write_folder(place.data / "worse", {"questions.csv": "table,question,answer\n"})
    done = place.run("-rs")
    assert done.parseoutcomes() == {"passed": 1, "failed": 1, "skipped": 1}
    assert place.records() == OUTCOMES
    done.stdout.fnmatch_lines(["*worse/questions.csv, field 'question': there are no questions"])


def test_a_broken_row_ends_the_run_unless_the_folder_allows_it(place: Place) -> None:
    bad = QUESTIONS + "absent.csv,How many?,3,x\n"
    write_folder(place.data / "mine", {"prices.csv": PRICES, "questions.csv": bad})
    done = place.run()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert not (place.pytester.path / "run").exists()
    row = "mine/questions.csv, row 4, field 'table': absent.csv does not exist in the folder"
    assert f"dataset 'mine': 1 row cannot be used: {row}. " in done.stderr.str()
    assert "`allow_unusable = true` in tablebench.toml" in done.stderr.str()
    (place.data / "mine/tablebench.toml").write_text("allow_unusable = true\n", encoding="utf-8")
    done = place.run("--bench-gate=mine.no_answer <= 0.9")
    assert place.records() == OUTCOMES
    assert "left out, because they cannot be used: 1 row of mine" in done.stdout.str()
    done.stdout.fnmatch_lines(
        [
            "mine: 1 bad row left out:",
            "  mine/questions.csv, row 4, field 'table': absent.csv does not exist in the folder",
        ]
    )


def test_a_question_can_name_its_perturbations(place: Place) -> None:
    questions = (
        "table,question,answer,id,perturbations\n"
        "prices.csv,Which is first?,tea,first,none | transpose\n"
        "prices.csv,Which is cheap?,tea,cheap,\n"
        ",What do people drink?,tea,bare,\n"
    )
    write_folder(place.data / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    done = place.run("--bench-perturbation=none,shuffle_rows", page=True)
    assert place.records() == {
        "mine/first/html/none": "right",
        "mine/cheap/html/none": "right",
        "mine/cheap/html/shuffle_rows": "right",
        "mine/bare/html/none": "right",
    }
    reasons = "the question does not allow it 1, there is no table to rearrange 1"
    done.stdout.fnmatch_lines([f"mine: 2 cases do not apply: {reasons}"])
    facts = json.loads((place.pytester.path / "run/run.json").read_text("utf-8"))
    assert facts["cases_planned"] == 4
    assert facts["by_dataset"]["mine"]["does_not_apply"] == {
        "the question does not allow it": 1,
        "there is no table to rearrange": 1,
    }
    summary = json.loads((place.pytester.path / "run/summary.json").read_text("utf-8"))
    scope = summary["benchmarks"]["own"]["datasets"]["mine"]
    assert scope["flags"] == summary["benchmarks"]["own"]["flags"] == []
    assert scope["does_not_apply"] == facts["by_dataset"]["mine"]["does_not_apply"]
    assert reasons in (place.pytester.path / "run/report.html").read_text("utf-8")


def test_rows_are_scored_by_the_metric_they_name(place: Place) -> None:
    questions = (
        "table,question,answer,id,metric,threshold\n"
        "prices.csv,What do people drink?,tea and coffee,drinks,f1_strings,0.5\n"
        "prices.csv,What do they like?,tea and coffee,likes,f1_strings,0.6\n"
        "prices.csv,Which is cheap?,tea,cheap,,\n"
    )
    write_folder(place.data / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    place.run()
    # One of three words: F1 is 2 * 1 / (1 + 3).
    assert place.records() == {
        "mine/drinks/html/none": "right",
        "mine/likes/html/none": "wrong",
        "mine/cheap/html/none": "right",
    }
    run = place.pytester.path / "run"
    rows = [json.loads(line) for line in (run / "records.jsonl").read_text("utf-8").splitlines()]
    assert [(row["metric"], row["score"], row["threshold"]) for row in rows] == [
        ("f1_strings", 0.5, 0.5),
        ("f1_strings", 0.5, 0.6),
        ("typed_answer", 1.0, 1.0),
    ]


def test_an_unregistered_metric_is_refused_with_its_row(place: Place) -> None:
    questions = "table,question,answer,metric\nprices.csv,Which is cheap?,tea,txt\n"
    write_folder(place.data / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    done = place.run()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(
        ["ERROR: mine/questions.csv, row 2: unknown metric 'txt'; did you mean 'text'*"]
    )


@pytest.mark.parametrize(
    ("name", "text", "message"),
    [
        ("questions.csv", "table,question,answer\n", "field 'question': there are no questions"),
        ("prices.csv", PRICES, "has tables but no questions: add one of questions.csv, "),
    ],
)
def test_a_data_folder_without_a_question_is_an_error(
    place: Place, name: str, text: str, message: str
) -> None:
    (place.data / name).write_text(text, encoding="utf-8")
    done = place.run()
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert message in done.stdout.str()
