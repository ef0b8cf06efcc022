"""Finished runs with corrections: rejudged, compared, merged, and ranked on one page."""

from __future__ import annotations

import json
import re
from dataclasses import replace
from pathlib import Path

import jinja2  # noqa: F401 - imported once, before pytester removes what a run imports
import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.datasets import row_digest
from pytest_tablebench.results.corrections import Correction
from tests.support.commands import command
from tests.support.overlays import (
    BROKEN,
    OVERLAY,
    correction,
    prepare,
    toy_model,
    write_overlay,
)
from tests.support.runs import examples
from tests.support.toy_bench import BO, CY, SUITE, Bench


@pytest.fixture
def toys(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    monkeypatch.chdir(bench.path)
    return prepare(bench)


def lines(folder: str) -> list[str]:
    return (Path(folder) / "records.jsonl").read_text("utf-8").splitlines()


def test_rejudge_adds_replaces_and_removes_corrections(toys, capsys):
    model = f"--model={toy_model(toys)}"
    toys.run(model, results="plain")
    toys.run(model, OVERLAY, results="both")
    code, out, _ = command(capsys, "rejudge", "plain", OVERLAY, "-o", "added")
    assert code == 0
    assert "gold changed for 1 example, 1 left out" in out

    def comparable(folder: str) -> list[dict]:
        return [{**json.loads(line), "latency_s": 0} for line in lines(folder)]

    assert comparable("added") == comparable("both")
    assert toys.facts("added")["corrections"] == toys.facts("both")["corrections"]
    assert toys.summary("added")["corrected"] == toys.summary("both")["corrected"]

    # Without a file the corrections stay, with another file they are replaced.
    command(capsys, "rejudge", "both", "-o", "kept")
    assert lines("kept") == lines("both")
    write_overlay(toys.path, correction(CY, "wrong", "11"), name="other.csv")
    command(capsys, "rejudge", "both", "--bench-corrections=other.csv", "-o", "replaced")
    entries = {record["example_id"]: record.get("corrected") for record in toys.records("replaced")}
    assert (entries["ada"], entries["bo"], entries["cy"]["score"]) == (None, None, 0.0)
    assert toys.facts("replaced")["corrections"]["file"] == "other.csv"

    # Scored again without a file, the former scores by the corrected gold would be stale.
    _, out, _ = command(capsys, "rejudge", "both", "--bench-compat=fixed", "-o", "again")
    assert "the scores by the corrected gold are left out" in out
    assert "corrections" not in toys.facts("again")
    assert not any("corrected" in line for line in lines("again"))


def test_rejudge_checks_corrections_and_gates(toys, capsys):
    toys.run(f"--model={toy_model(toys)}", results="plain")
    gate = "--bench-gate=toy@corrected.performance >= 0.6"
    code, _, err = command(capsys, "rejudge", "plain", gate)
    assert code not in (0, 10, 11)
    assert "the run has no corrections; add --bench-corrections=FILE" in err
    point = (gate, "--bench-gate-point")
    assert command(capsys, "rejudge", "plain", OVERLAY, *point)[0] == 0
    write_overlay(toys.path, replace(BROKEN, digest="0" * 20))
    code, _, err = command(capsys, "rejudge", "plain", OVERLAY, "-o", "out")
    assert "toy/cy: the row changed since this correction was made" in err
    assert not Path("out").exists()


def test_a_new_threshold_also_changes_corrected_verdicts(toys, capsys):
    toys.run(f"--model={toy_model(toys)}", OVERLAY)
    command(capsys, "rejudge", "run", "--bench-threshold=toy=0", "-o", "low")
    write_overlay(toys.path, correction(BO, "wrong", "39"))
    command(capsys, "rejudge", "low", OVERLAY, "--bench-threshold=toy=0.5", "-o", "high")
    verdicts = [
        record["corrected"]["passed"]
        for folder in ("low", "high")
        for record in toys.records(folder)
        if record["example_id"] == "bo"
    ]
    assert verdicts == [True, False]


def row_of(output: str, title: str) -> list[str]:
    table = output[output.index(f"\n{title}\n") :]
    row = re.search(r"(?m)^toy +performance.*$", table)
    assert row is not None
    return re.split(r"\s{2,}", row[0])


PUBLISHED, CORRECTED = (
    "over the same examples on both sides",
    "by corrected gold, over the same examples on both sides",
)


def test_compare_shows_corrected_figures_of_equal_corrections_only(toys, capsys):
    before, after = toy_model(toys, "41", "before.jsonl"), toy_model(toys, name="after.jsonl")
    for folder, model in (("a", before), ("b", after)):
        toys.run(f"--model={model}", OVERLAY, results=folder)
    toys.run(f"--model={after}", results="none")
    _, out, _ = command(capsys, "compare", "a", "b", "--json", "c.json")
    # The old model says 41, the new one 40: the published gold is 41, the corrected one 40.
    assert row_of(out, PUBLISHED)[2:5] == ["0.750", "0.500", "-0.250"]
    assert row_of(out, CORRECTED)[2:5] == ["0.333", "0.667", "+0.333"]
    scopes = json.loads(Path("c.json").read_text())["corrected"]
    assert {scope["measures"]["performance"]["n_examples"] for scope in scopes} == {3}

    _, out, _ = command(capsys, "compare", "a", "b", "--corrected")
    assert row_of(out, PUBLISHED)[2:5] == ["0.333", "0.667", "+0.333"]
    assert "wrong before, right now: 1\n  toy/bo/html/none" in out
    assert "figures and verdicts are by the corrected gold" in out
    assert "interrupted" not in out  # the example that is left out is not missing

    for pair in (("a", "none"), ("none", "b")):
        _, out, _ = command(capsys, "compare", *pair, "--json", "d.json")
        assert "the runs do not have the same corrections of the gold" in out
        assert "compared by the published gold only" in out
        assert CORRECTED not in out
        assert "corrected" not in json.loads(Path("d.json").read_text())
        code, _, err = command(capsys, "compare", *pair, "--corrected")
        assert code != 0
        assert "--corrected: the runs do not have the same corrections" in err


def test_a_page_of_runs_shows_how_ranks_move(toys, capsys, no_figures):
    models = {"a": toy_model(toys, "41", "one.jsonl"), "b": toy_model(toys, "40", "two.jsonl")}
    for folder, model in models.items():
        toys.run(f"--model={model}", OVERLAY, results=f"runs/{folder}")
    command(capsys, "report", "runs/a", "runs/b", "--out", "paper", "--no-plots")
    soup = BeautifulSoup(Path("paper.html").read_text("utf-8"), "html.parser")
    [table, *_] = soup.select("table")
    rows = [[cell.get_text() for cell in row.select("td, th")] for row in table.select("tr")]
    assert rows[0][-3:] == ["by corrected gold", "# by it", "moved"]
    # By the published gold 3 of 4 against 2 of 4, by the corrected gold 1 of 3 against 2 of 3.
    assert [(row[0], row[2], *row[-3:]) for row in rows[1:]] == [
        ("1", "0.750", "0.333", "2", "↓ 1"),
        ("2", "0.500", "0.667", "1", "↑ 1"),
    ]
    toys.run(f"--model={models['a']}", results="runs/none")
    command(capsys, "report", "runs/none", "runs/b", "--out", "mixed", "--no-plots")
    page = Path("mixed.html").read_text("utf-8")
    assert "by corrected gold" not in page
    assert "corrections differ: none (" in page


def test_merge_needs_the_same_corrections(toys, capsys):
    model = f"--model={toy_model(toys)}"
    toys.run(model, OVERLAY, results="a")
    toys.run(model, results="none")
    code, _, err = command(capsys, "merge", "a", "none", "-o", "refused")
    assert code != 0
    assert "the runs are unlike: corrections: " in err


def test_merged_parts_equal_the_whole_run(toys, capsys):
    toys.suite(SUITE.replace('"toy"', '"starter"'))
    first, second, third, _ = (
        Correction("starter", example.id, row_digest(example), "broken") for example in examples(4)
    )
    corrections = replace(first, verdict="right"), second, replace(third, verdict="unclear")
    write_overlay(toys.path, *corrections)
    limit = "--bench-limit=8"
    toys.run(OVERLAY, limit, results="whole")
    for number in (1, 2):
        toys.run(OVERLAY, limit, f"--bench-shard={number}/2", results=f"parts/{number}")
    assert command(capsys, "merge", "parts", "-o", "merged", "--no-page")[0] == 0
    assert toys.summary("merged") == toys.summary("whole")
    assert toys.facts("merged")["corrections"] == toys.facts("whole")["corrections"]
    assert toys.facts("merged")["corrections"]["left_out"] == 2
