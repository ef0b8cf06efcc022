"""Gates, stopping, shards and plan use the tables of the examples as clusters."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.cli import main
from pytest_tablebench.reports._github import summary_markdown
from pytest_tablebench.reports.leaderboard import write_leaderboard
from pytest_tablebench.results.run import load_run
from tests.support.own_folders import OwnBench, write_folder

TABLES, PER_TABLE = 6, 4
GATE = "--bench-gate=shop.performance >= 0.4"
BOTH = "--bench-perturbation=none,transpose"


@pytest.fixture
def shop(own: OwnBench, monkeypatch: pytest.MonkeyPatch) -> OwnBench:
    """Six tables of four questions; the answers for two tables are right."""
    monkeypatch.chdir(own.path)
    rows = ["table,question,answer,id"]
    files: dict[str, str | bytes] = {}
    for table in range(TABLES):
        files[f"t{table}.csv"] = f"item,price\ntea,{table}\ncocoa,{table + 1}\n"
        answer = "tea" if table < 2 else "cocoa"
        rows += [f"t{table}.csv,Which is it ({n})?,{answer},q{table}{n}" for n in range(PER_TABLE)]
    write_folder(own.folders / "shop", {**files, "questions.csv": "\n".join(rows) + "\n"})
    return own


# x = 1 for 8 of 24 questions, all of two tables: mean 1/3, residual sums of the tables
# 4 * 2/3 twice and 4 * -1/3 four times, SE^2 = 6/5 * (2 * 64/9 + 4 * 16/9) / 576.
ERROR = (6 / 5 * (2 * 64 / 9 + 4 * 16 / 9) / 576) ** 0.5


def test_gates_of_runs_shards_and_rejudging_use_tables_as_clusters(shop: OwnBench, capsys) -> None:
    whole = shop.run(BOTH, GATE, "-v", results="whole")
    assert whole.ret == 11
    records = shop.records("whole")
    assert {(record["example_id"], record["cluster"]) for record in records} == {
        (f"q{table}{n}", f"shop/t{table}.csv") for table in range(TABLES) for n in range(PER_TABLE)
    }
    assert len(records) == TABLES * PER_TABLE * 2  # a transposed table is the same cluster
    [gate] = shop.facts("whole")["gates"]
    assert (gate["n_examples"], gate["n_clusters"], gate["df"]) == (24, 6, 5)
    assert gate["se"] == pytest.approx(ERROR)
    scope = shop.summary("whole")["benchmarks"]["own"]["datasets"]["shop"]
    assert (scope["n_clusters"], scope["ci95"]["performance"]) == (6, gate["interval"])
    assert "shop: 24 examples over 6 tables" in whole.stdout.str()

    for number in (1, 2):
        shop.run(BOTH, GATE, f"--bench-shard={number}/2", results=f"part-{number}")
    assert main(["merge", "part-1", "part-2", "-o", "merged"]) == 11
    [merged] = shop.facts("merged")["gates"]
    assert merged == gate
    assert shop.summary("merged") == shop.summary("whole")

    assert main(["rejudge", "whole", "--bench-gate", "shop.performance >= 0.4"]) == 11
    assert "over 6 tables" in capsys.readouterr().out


def test_a_run_without_clusters_is_judged_by_examples(shop: OwnBench, capsys, no_figures) -> None:
    shop.run(BOTH)
    path = shop.path / "run/records.jsonl"
    lines = [{k: v for k, v in record.items() if k != "cluster"} for record in shop.records("run")]
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), encoding="utf-8")
    assert main(["rejudge", "run", "--bench-gate", "shop.performance >= 0.3"]) == 11
    output = capsys.readouterr().out
    assert "the records do not name the tables of shop" in output
    main(["report", "run", "--no-plots"])
    assert "the records do not name the tables of shop" in (
        shop.path / "run/report.html"
    ).read_text("utf-8")
    loaded = load_run(shop.path / "run")
    assert "the records do not name the tables" in summary_markdown(
        loaded.facts, summary_of(loaded)
    )
    assert summary_of(loaded)["benchmarks"]["own"]["n_clusters"] is None
    # Scoring again opens the dataset, which names the tables.
    again = ["rejudge", "run", "--bench-data=data", "--bench-compat=fixed", "--out=new"]
    assert main([*again, "--bench-gate", "shop.performance >= 0.3"]) == 11
    assert "over 6 tables" in capsys.readouterr().out
    assert {record["cluster"] for record in shop.records("new")} == {
        f"shop/t{table}.csv" for table in range(TABLES)
    }
    board = shop.path / "board.html"
    write_leaderboard([shop.path / "run", shop.path / "new"], board)
    assert board.read_text("utf-8").count("do not name the tables of examples") == 1


def test_stopping_and_the_plan_use_tables_as_clusters(shop: OwnBench) -> None:
    options = ("--bench-gate=shop.performance >= 0.7", "--bench-stop-when-decided")
    stopped = shop.run(BOTH, "--bench-serializer=html,csv", *options)
    assert stopped.ret == 11  # by examples it would fail after the first pass
    [gate] = shop.facts()["gates"]
    assert (gate["n_clusters"], gate["state"]) == (6, "undecided")
    planned = shop.run(BOTH, "--bench-plan", "--bench-gate=shop.performance >= 0.9", results="plan")
    assert "24 examples over 6 tables; spread assumed" in planned.stdout.str()
