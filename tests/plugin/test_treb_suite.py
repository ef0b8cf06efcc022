"""Runs of TReB's suite: without data, with a judge, and with damaged files."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from tests.support.toy_bench import Bench
from tests.support.treb_files import sample, write_samples, write_treb

SUITE = Path(__file__).parents[2].joinpath("suites/test_treb.py").read_text(encoding="utf-8")

CONFTEST = """
from pytest_tablebench.models import Reply

ANSWERS = {
    "(1)": "30",
    "(2)": "thirty",
    "(3)": "about 30",
    "(4)": "",
    "(5)": "30 or 31",
    "(6)": "<think>it may be 30",
    "(7)": "\\\\boxed{29} no, \\\\boxed{30}, or \\\\boxed{31}",
    "(8)": "```python\\nprint('x' * 2 * 10**9)\\n```",
    "(9)": "```python\\nprint(df.iloc[0, 0])\\n```",
}
MARKS = {
    "30": "As it should be: \\\\boxed{10}",
    "thirty": "It is right, and well said.",
    "about 30": "\\\\boxed{2}, no, \\\\boxed{8}",
    "30 or 31": "\\\\boxed{70}",
}


class Model:
    def __init__(self, model):
        self.model = model

    def complete(self, request):
        if self.model.startswith("judge/"):
            answer = request.text.rpartition("Student's answer:\\n")[2]
            return Reply(MARKS.get(answer, "\\\\boxed{5}"))
        return Reply(next((text for sign, text in ANSWERS.items() if sign in request.text), "30"))


def pytest_tablebench_register_provider(register):
    for prefix in ("plain", "judge"):
        register(prefix, lambda model, settings: Model(model))
"""


@pytest.fixture
def treb(bench: Bench) -> Bench:
    """A folder with TReB's suite, a model and a judge, and no data."""
    bench.pytester.makeconftest(CONFTEST)
    bench.suite(SUITE)
    (bench.path / "data").mkdir()
    return bench


def run(treb: Bench, *arguments: str, results: str = "run") -> pytest.RunResult:
    return treb.run("--model=plain/any", "--bench-data=data", *arguments, results=results)


def by_example(treb: Bench, results: str = "run") -> dict[str, dict[str, Any]]:
    return {record["example_id"]: record for record in treb.records(results)}


def test_without_data_the_suite_is_skipped_and_the_pull_command_named(treb: Bench) -> None:
    done = run(treb, "-rs")
    done.assert_outcomes(skipped=1)
    done.stdout.fnmatch_lines(["*no samples of TReB in *get it with: tablebench pull treb*"])


def test_every_subtask_in_the_data_runs_even_an_unknown_one(treb: Bench) -> None:
    write_treb(treb.path / "data")
    done = run(treb, "--bench-limit=1", "-v")
    done.stdout.fnmatch_lines(["*::test_treb[[]table_query-*"])
    records = treb.records()
    assert len({record["dataset"] for record in records}) == 27
    tables = {
        record["tags"]["tables"]: (record["serializer"], record["perturbation"])
        for record in records
    }
    assert tables == {"0": ("none", "none"), "1": ("html", "none")}
    skills = [record["tags"]["skill"] for record in records]
    counts = {skill: skills.count(skill) for skill in dict.fromkeys(skills)}
    assert counts == {"NLU": 6, "TU": 6, "TBO": 2, "TCO": 2, "DA": 4, "ADA": 7}
    unnamed = treb.facts()["datasets"]["treb_multi_step_guessing"]
    assert "is not a known subtask" in unnamed["notes"][0]


def test_a_subtask_runs_only_in_the_modes_of_the_benchmark(treb: Bench) -> None:
    write_treb(treb.path / "data")
    done = run(
        treb,
        "--bench-strategy=tcot,pot,icot",
        "--bench-dataset=treb_instruction_following,treb_table_title_naming",
        "--bench-limit=1",
        "--bench-serializer=markdown",
    )
    cases = [(record["dataset"], record["strategy"]) for record in treb.records()]
    assert sorted(cases) == [
        ("treb_instruction_following", "tcot"),
        ("treb_table_title_naming", "tcot"),
    ]
    facts = treb.facts()["by_dataset"]["treb_table_title_naming"]
    assert facts["does_not_apply"] == {
        "the benchmark does not ask it by icot": 1,
        "the benchmark does not ask it by pot": 1,
    }
    done.stdout.fnmatch_lines(["treb_table_title_naming: 2 cases do not apply: *"])


def test_records_flag_faults_of_judges_answers_and_files(treb: Bench) -> None:
    rows = [sample("Table_Query", number) for number in range(1, 8)]
    rows[0] |= {"columnslable": [9]}
    rows[2] |= {"file_path": ["../../outside.csv"]}
    write_samples(
        treb.path / "data/treb/Table_Query.json", [*rows, sample("Table_Query", 8, id=...)]
    )
    run(treb, "--bench-judge=judge/any")
    by_id = by_example(treb)
    numbered = {name.split("|")[1]: record for name, record in by_id.items() if "|" in name}
    assert {name: record["flags"] for name, record in numbered.items()} == {
        "1": [],
        "2": ["judge_not_a_number"],
        "3": ["judge_several_boxes"],
        "4": [],
        "5": ["judge_out_of_range"],
        "6": [],
        "7": ["several_boxes"],
    }
    parts = {
        name: (record["parts"].get("llm_score"), record["parts"].get("llm_score_or_0"))
        for name, record in numbered.items()
    }
    assert parts == {
        "1": (1.0, 1.0), "2": (None, 0.0), "3": (0.8, 0.8), "4": (None, None), "5": (None, 0.0),
        "6": (None, None), "7": (0.5, 0.5),
    }  # fmt: skip
    faults = {name: record["tags"].get("fault") for name, record in numbered.items()}
    assert (faults["1"], faults["3"], faults["2"]) == ("columnslable", "file_path", None)
    unreadable = (None, None, "no_answer")
    assert {
        name: (record["score"], record["part"], record["outcome"])
        for name, record in numbered.items()
    } == {
        "1": (1.0, "llm_score", "right"),
        "2": unreadable,
        "3": (0.8, "llm_score", "right"),  # of several marks the last counts
        "4": unreadable,  # an empty reply
        "5": unreadable,
        "6": unreadable,  # thoughts alone
        "7": (0.5, "llm_score", "wrong"),
    }
    assert {record["reason"] for record in by_id.values()} == {
        None,
        "judge_parse_error",
        "empty",
        "thoughts_alone",
        "unusable_data",
    }
    assert {record["threshold"] for record in by_id.values()} == {0.8, None}
    run(treb, "--bench-perturbation=shuffle_rows,none", results="plain")
    plain = by_example(treb, "plain")["harbours|1|made_1"]
    assert (plain["score"], plain["part"], plain["threshold"]) == (1.0, "em", 1.0)
    assert plain["flags"] == ["not_judged"]
    assert "llm_score" not in plain["parts"]
    assert {record["perturbation"] for record in treb.records("plain")} == {"none"}
    assert (by_id["row 8"]["outcome"], by_id["row 8"]["reason"]) == ("no_answer", "unusable_data")


def test_records_flag_a_program_that_prints_gigabytes(
    treb: Bench,
) -> None:
    bars = "| Harbour | Boats |\n|---|---|\n| Wick \\| Oban | 12 |"
    fields = {"file_path": [], "Table_markdown": [bars], "number_answer": ""}
    rows = [
        sample("Table_Query", 8),
        sample("Table_Query", 9, answer="Wick | Oban", **fields),
    ]
    write_samples(treb.path / "data/treb/Table_Query.json", rows)
    run(treb, "--bench-strategy=pot")
    by_id = {name.split("|")[1]: record for name, record in by_example(treb).items()}
    assert by_id["8"]["steps"][1]["outcome"] == "memory"
    assert by_id["8"]["flags"][0] == "program_failed"
    assert (by_id["8"]["outcome"], by_id["8"]["score"]) == ("wrong", 0.0)
    assert (by_id["9"]["outcome"], by_id["9"]["prediction"]) == ("right", "Wick | Oban")
    assert by_id["9"]["tags"]["read_from"] == "markdown"
