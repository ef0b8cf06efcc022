"""Data folders of users: node ids, selection, gates, workers, broken files."""

from __future__ import annotations

import pytest

from tests.support.own_folders import PRICES, QUESTIONS, OwnBench, write_folder

OUTCOMES = {"mine/cheap/html/none": "right", "mine/coffee/html/none": "wrong"}


def others(own: OwnBench) -> pytest.RunResult:
    """Collect without options for the grid, and run a plain test beside the suite."""
    own.suite("def test_good():\n    pass\n", "test_other.py")
    return own.pytester.runpytest_inprocess("--bench-data=data", "-pno:cacheprovider")


@pytest.mark.parametrize("workers", [(), ("-n1",)], ids=["alone", "workers"])
def test_the_suite_runs_every_data_folder(own: OwnBench, workers: tuple[str, ...]) -> None:
    write_folder(own.folders / "mine")
    write_folder(own.folders / "other")
    gate = ("--bench-gate=mine.pass_rate >= 0.5", "--bench-gate-point")
    assert own.run(*gate, *workers).ret == 0
    assert own.outcomes() == OUTCOMES | {
        "other/cheap/html/none": "right",
        "other/coffee/html/none": "wrong",
    }
    kinds = {record["example_id"]: record["part"] for record in own.records()}
    assert kinds == {"cheap": "text", "coffee": "number"}


def test_a_folder_is_selected_by_name_and_by_k(own: OwnBench) -> None:
    write_folder(own.folders / "mine")
    write_folder(own.folders / "other")
    own.run("--bench-dataset=mine")
    assert own.outcomes() == OUTCOMES
    done = own.run("-k", "other and coffee", "--collect-only", "-q")
    assert "test_own.py::test_own[other-coffee-html-none]" in done.stdout.str()
    assert "cheap" not in done.stdout.str()
    done = own.run("--bench-dataset=mien", results="refused")
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(["*unknown dataset 'mien'; did you mean 'mine'?*"])


def test_without_a_data_folder_the_suite_collects_nothing(own: OwnBench) -> None:
    done = others(own)
    assert done.parseoutcomes() == {"passed": 1}
    assert "collected 1 item" in done.stdout.str()
    assert "test_own" not in done.stdout.str()


def test_a_registered_dataset_replaces_the_folder_of_its_name(own: OwnBench) -> None:
    write_folder(own.folders / "mine")
    own.pytester.makeconftest(
        "from pytest_tablebench.datasets import TableQuestions\n\n"
        "def pytest_tablebench_register_dataset(register):\n"
        "    register(TableQuestions('mine', ()))\n"
    )
    assert others(own).parseoutcomes() == {"passed": 1}


def test_formats_of_a_conftest_join_the_grid_of_a_folder(own: OwnBench) -> None:
    write_folder(own.folders / "mine")
    own.pytester.makeconftest(
        "def pytest_tablebench_register_serializer(register):\n"
        "    register('first_cell', lambda table: str(table.header[0]))\n"
    )
    none = ("--bench-perturbation=none", "--bench-data=data", "-pno:cacheprovider")
    done = own.pytester.runpytest_inprocess(*none, "--bench-limit=1", "--collect-only", "-q")
    for name in ("first_cell", "html"):
        assert f"test_own[mine-cheap-{name}-none]" in done.stdout.str()


def test_a_broken_folder_is_skipped_and_the_others_run(own: OwnBench) -> None:
    write_folder(own.folders / "mine")
    write_folder(own.folders / "worse", {"questions.csv": "table,question,answer\n"})
    done = own.run("-rs")
    assert done.parseoutcomes() == {"passed": 1, "failed": 1, "skipped": 1}
    assert own.outcomes() == OUTCOMES
    done.stdout.fnmatch_lines(["*worse/questions.csv, field 'question': there are no questions"])


def test_a_data_folder_without_a_question_is_an_error(own: OwnBench) -> None:
    (own.folders / "prices.csv").write_text(PRICES, encoding="utf-8")
    done = own.run()
    assert done.ret == pytest.ExitCode.INTERRUPTED
    assert "has tables but no questions: add one of questions.csv, " in done.stdout.str()


def test_a_broken_row_ends_the_run_unless_the_folder_allows_it(own: OwnBench) -> None:
    bad = QUESTIONS + "absent.csv,How many?,3,x\n"
    write_folder(own.folders / "mine", {"prices.csv": PRICES, "questions.csv": bad})
    done = own.run()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    assert not (own.path / "run").exists()
    row = "mine/questions.csv, row 4, field 'table': absent.csv does not exist in the folder"
    assert f"dataset 'mine': 1 row cannot be used: {row}. " in done.stderr.str()
    assert "`allow_unusable = true` in tablebench.toml" in done.stderr.str()
    (own.folders / "mine/tablebench.toml").write_text("allow_unusable = true\n", encoding="utf-8")
    done = own.run("--bench-gate=mine.no_answer <= 0.9")
    assert own.outcomes() == OUTCOMES
    assert "left out, because they cannot be used: 1 row of mine" in done.stdout.str()
    done.stdout.fnmatch_lines(["mine: 1 bad row left out:", f"  {row}"])


def test_a_question_can_name_its_perturbations(own: OwnBench) -> None:
    questions = (
        "table,question,answer,id,perturbations\n"
        "prices.csv,Which is first?,tea,first,none | transpose\n"
        "prices.csv,Which is cheap?,tea,cheap,\n"
        ",What do people drink?,tea,bare,\n"
    )
    write_folder(own.folders / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    done = own.run("--bench-perturbation=none,shuffle_rows", "-o", "bench_no_page=false")
    assert own.outcomes() == {
        "mine/first/html/none": "right",
        "mine/cheap/html/none": "right",
        "mine/cheap/html/shuffle_rows": "right",
        "mine/bare/html/none": "right",
    }
    reasons = "the question does not allow it 1, there is no table to rearrange 1"
    done.stdout.fnmatch_lines([f"mine: 2 cases do not apply: {reasons}"])
    facts, own_figures = own.facts(), own.summary()["benchmarks"]["own"]
    assert facts["cases_planned"] == 4
    assert facts["by_dataset"]["mine"]["does_not_apply"] == {
        "the question does not allow it": 1,
        "there is no table to rearrange": 1,
    }
    scope = own_figures["datasets"]["mine"]
    assert scope["flags"] == own_figures["flags"] == []
    assert scope["does_not_apply"] == facts["by_dataset"]["mine"]["does_not_apply"]
    assert reasons in (own.path / "run/report.html").read_text("utf-8")


def test_rows_are_scored_by_the_metric_they_name(own: OwnBench) -> None:
    questions = (
        "table,question,answer,id,metric,threshold\n"
        "prices.csv,What do people drink?,tea and coffee,drinks,f1_strings,0.5\n"
        "prices.csv,What do they like?,tea and coffee,likes,f1_strings,0.6\n"
        "prices.csv,Which is cheap?,tea,cheap,,\n"
    )
    write_folder(own.folders / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    own.run()
    # One of three words: F1 is 2 * 1 / (1 + 3).
    fields = ("outcome", "metric", "score", "threshold")
    assert [tuple(record[field] for field in fields) for record in own.records()] == [
        ("right", "f1_strings", 0.5, 0.5),
        ("wrong", "f1_strings", 0.5, 0.6),
        ("right", "typed_answer", 1.0, 1.0),
    ]


def test_an_unregistered_metric_is_refused_with_its_row(own: OwnBench) -> None:
    questions = "table,question,answer,metric\nprices.csv,Which is cheap?,tea,txt\n"
    write_folder(own.folders / "mine", {"prices.csv": PRICES, "questions.csv": questions})
    done = own.run()
    assert done.ret == pytest.ExitCode.USAGE_ERROR
    done.stderr.fnmatch_lines(
        ["ERROR: mine/questions.csv, row 2: unknown metric 'txt'; did you mean 'text'*"]
    )
