"""Gates, stopping, shards and plan use the tables of the examples as clusters."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.cli import main
from pytest_tablebench.reports._github import summary_markdown
from pytest_tablebench.reports.leaderboard import write_leaderboard
from pytest_tablebench.results.run import load_run
from tests.support.own_folders import write_folder

SUITE = Path(__file__).parents[2].joinpath("suites/test_own.py").read_text(encoding="utf-8")
TABLES, PER_TABLE = 6, 4
GATE = "--bench-gate=shop.performance >= 0.4"


class Place:
    """A suite over six tables of four questions; the answers for two tables are right."""

    def __init__(self, pytester: pytest.Pytester) -> None:
        self.pytester, self.path = pytester, pytester.path
        rows = ["table,question,answer,id"]
        files: dict[str, str | bytes] = {}
        for table in range(TABLES):
            files[f"t{table}.csv"] = f"item,price\ntea,{table}\ncocoa,{table + 1}\n"
            answer = "tea" if table < 2 else "cocoa"
            rows += [
                f"t{table}.csv,Which is it ({n})?,{answer},q{table}{n}" for n in range(PER_TABLE)
            ]
        write_folder(self.path / "data/shop", {**files, "questions.csv": "\n".join(rows) + "\n"})
        (self.path / "test_own.py").write_text(SUITE, encoding="utf-8")
        (self.path / "tea.jsonl").write_text('{"default": "tea"}\n', encoding="utf-8")

    def run(self, results: str, *arguments: str, formats: str = "html") -> pytest.RunResult:
        return self.pytester.runpytest_inprocess(
            "-p", "no:cacheprovider", "--model=tablebench/scripted:tea.jsonl", "--bench-data=data",
            f"--bench-results={results}", "--bench-store=none", "--bench-no-page",
            f"--bench-serializer={formats}", "--bench-perturbation=none,transpose", *arguments,
        )  # fmt: skip

    def records(self, results: str) -> list[dict[str, object]]:
        lines = (self.path / results / "records.jsonl").read_text("utf-8").splitlines()
        return [json.loads(line) for line in lines]

    def read(self, path: str) -> dict[str, Any]:
        return json.loads((self.path / path).read_text("utf-8"))


@pytest.fixture
def place(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> Place:
    monkeypatch.setenv("COLUMNS", "400")
    monkeypatch.chdir(pytester.path)
    return Place(pytester)


# x = 1 for 8 of 24 questions, all of two tables: mean 1/3, residual sums of the tables
# 4 * 2/3 twice and 4 * -1/3 four times, SE^2 = 6/5 * (2 * 64/9 + 4 * 16/9) / 576.
ERROR = (6 / 5 * (2 * 64 / 9 + 4 * 16 / 9) / 576) ** 0.5


def test_gates_of_runs_shards_and_rejudging_use_tables_as_clusters(place: Place, capsys) -> None:
    whole = place.run("whole", GATE, "-v")
    assert whole.ret == 11
    records = place.records("whole")
    assert {(record["example_id"], record["cluster"]) for record in records} == {
        (f"q{table}{n}", f"shop/t{table}.csv") for table in range(TABLES) for n in range(PER_TABLE)
    }
    assert len(records) == TABLES * PER_TABLE * 2  # a transposed table is the same cluster
    [gate] = place.read("whole/run.json")["gates"]
    assert (gate["n_examples"], gate["n_clusters"], gate["df"]) == (24, 6, 5)
    assert gate["se"] == pytest.approx(ERROR)
    scope = place.read("whole/summary.json")["benchmarks"]["own"]["datasets"]["shop"]
    assert (scope["n_clusters"], scope["ci95"]["performance"]) == (6, gate["interval"])
    assert "shop: 24 examples over 6 tables" in whole.stdout.str()

    for number in (1, 2):
        place.run(f"part-{number}", GATE, f"--bench-shard={number}/2")
    assert main(["merge", "part-1", "part-2", "-o", "merged"]) == 11
    [merged] = place.read("merged/run.json")["gates"]
    assert merged == gate
    assert place.read("merged/summary.json") == place.read("whole/summary.json")

    assert main(["rejudge", "whole", "--bench-gate", "shop.performance >= 0.4"]) == 11
    assert "over 6 tables" in capsys.readouterr().out


def test_a_run_without_clusters_is_judged_by_examples(place: Place, capsys) -> None:
    place.run("run")
    path = place.path / "run/records.jsonl"
    lines = [{k: v for k, v in record.items() if k != "cluster"} for record in place.records("run")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["rejudge", "run", "--bench-gate", "shop.performance >= 0.3"]) == 11
    output = capsys.readouterr().out
    assert "the records do not name the tables of shop" in output
    main(["report", "run", "--no-plots"])
    assert "the records do not name the tables of shop" in (
        place.path / "run/report.html"
    ).read_text("utf-8")
    loaded = load_run(place.path / "run")
    assert "the records do not name the tables" in summary_markdown(
        loaded.facts, summary_of(loaded)
    )
    assert summary_of(loaded)["benchmarks"]["own"]["n_clusters"] is None
    # Scoring again opens the dataset, which names the tables.
    again = ["rejudge", "run", "--bench-data=data", "--bench-compat=fixed", "--out=new"]
    assert main([*again, "--bench-gate", "shop.performance >= 0.3"]) == 11
    assert "over 6 tables" in capsys.readouterr().out
    assert {record["cluster"] for record in place.records("new")} == {
        f"shop/t{table}.csv" for table in range(TABLES)
    }
    board = place.path / "board.html"
    write_leaderboard([place.path / "run", place.path / "new"], board)
    assert board.read_text("utf-8").count("do not name the tables of examples") == 1


def test_stopping_and_the_plan_use_tables_as_clusters(place: Place) -> None:
    options = ("--bench-gate=shop.performance >= 0.7", "--bench-stop-when-decided")
    stopped = place.run("run", *options, formats="html,csv")
    assert stopped.ret == 11  # by examples it would fail after the first pass
    [gate] = place.read("run/run.json")["gates"]
    assert (gate["n_clusters"], gate["state"]) == (6, "undecided")
    planned = place.run("plan", "--bench-plan", "--bench-gate=shop.performance >= 0.9")
    assert "24 examples over 6 tables; spread assumed" in planned.stdout.str()
