"""Thinking effort as an axis: ids, records, requests, plans, reports, gates and comparison."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench import read_run
from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.reports._github import summary_markdown
from pytest_tablebench.results import Record
from pytest_tablebench.results.run_facts import RunFacts
from tests.support.openai_server import Behaviour, OpenAIServer, error, text
from tests.support.runs import Run, Script, right, run_inside

COUNT = 6
REASONS = "openai/o3-mini"
"""A model that litellm's table marks as reasoning; 1.10 USD and 4.40 USD for a million tokens."""

EFFORTS = ("low", "medium", "high")
ANSWERS = {"low": 3, "medium": 6, "high": 6}
"""The number of questions that the model answers right."""

TOKENS = {"low": 20, "medium": 100, "high": 500}
"""The tokens of a reply, 10 of which are the answer."""

SEVERAL = f"--bench-effort={','.join(EFFORTS)}"
GATES = (
    "starter[high].performance >= 1",
    "starter[effort=low].performance <= 0.5",
    "starter[low][csv].performance <= 0.5",
)


class Thinker:
    """Answers more questions with more effort."""

    def __init__(self) -> None:
        self.script = Script(COUNT)
        self.asked: list[tuple[int, str]] = []

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        number, effort = self.script.number(body), str(body.get("reasoning_effort"))
        assert number is not None
        self.asked.append((number, effort))
        is_right = number < ANSWERS[effort]
        reply = right(self.script.examples[number]) if is_right else "no idea"
        return text(reply, usage=(50, TOKENS[effort]), thought=TOKENS[effort] - 10)


@dataclass(frozen=True)
class Axis:
    """A run with three efforts, its server and its model."""

    run: Run
    server: OpenAIServer
    thinker: Thinker
    folder: Path


def _without_times(run: Run) -> dict[str, Record]:
    return {
        case_id: replace(record, latency_s=None, from_store=False)
        for case_id, record in run.records.items()
    }


def _block(run: Run) -> dict[str, Any]:
    summary = json.loads((run.folder / "run" / "summary.json").read_text())
    block: dict[str, Any] = summary["benchmarks"]["starter"]["efforts"]
    return block


@pytest.fixture(scope="module")
def axis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Axis]:
    folder, thinker = tmp_path_factory.mktemp("efforts"), Thinker()
    arguments = ["--bench-gate-point", *(f"--bench-gate={gate}" for gate in GATES)]
    with OpenAIServer(thinker) as server:
        run = run_inside(
            folder / "0", server, SEVERAL, *arguments, count=COUNT, model=REASONS, page=True
        )
        assert run.exit_code == 0, run.output
        yield Axis(run, server, thinker, folder)


def test_several_efforts_are_cases_with_requests_of_their_own(axis: Axis) -> None:
    questions = [(number, effort) for number in range(COUNT) for effort in EFFORTS]
    assert sorted(axis.thinker.asked[: len(questions)]) == sorted(questions)
    examples = axis.thinker.script.examples
    efforts = {case_id: record.effort for case_id, record in axis.run.records.items()}
    assert efforts == {
        f"starter/{example.id}/csv/none/{effort}": effort
        for example in examples
        for effort in EFFORTS
    }
    facts = axis.run.facts
    assert facts["effort"] == list(EFFORTS)
    assert facts["grid"]["efforts"] == list(EFFORTS)
    assert "18 cases; grid 1 serializer x 1 perturbation x 3 efforts" in axis.run.output
    assert f"All {len(GATES)} gates hold" in axis.run.output
    assert "test_starter[geo-02-row-1-csv-none-low]" in axis.run.output
    frame = read_run(axis.run.folder / "run")
    assert frame.groupby("effort")["score"].mean().to_dict() == {
        effort: ANSWERS[effort] / COUNT for effort in EFFORTS
    }


def test_the_report_has_score_tokens_and_price_of_each_effort(axis: Axis) -> None:
    block = _block(axis.run)
    settings = block["settings"]
    assert list(settings) == list(EFFORTS)
    assert (block["reference"], block["margin"]) == ("high", 0.01)
    for effort, figures in settings.items():
        assert figures["performance"] == ANSWERS[effort] / COUNT
        assert figures["tokens_per_answer"] == TOKENS[effort]
        assert figures["reasoning_tokens"] == COUNT * (TOKENS[effort] - 10)
        usd = (50 * 1.10 + TOKENS[effort] * 4.40) / 1e6
        assert figures["usd_per_answer"] == pytest.approx(usd)
    low, medium = settings["low"]["paired"], settings["medium"]["paired"]
    # Differences -1 and 0, three of each: the standard error is sqrt(0.3 / 6), and t(0.975, 5) is
    # 2.5706 (a table of the distribution).
    assert low["difference"] == -0.5
    assert low["ci95"] == [-1.0, pytest.approx(-0.5 + 2.5706 * 0.05**0.5, abs=1e-4)]
    # All differences are 0: 0.99^n must be below 0.025 / 2, so n is 437.
    assert medium["more_examples"] == 437 - COUNT
    assert {entry["state"] for entry in (low, medium)} == {"undecided"}
    assert (block["cheapest"], block["undecided"]) == (None, ["low", "medium"])
    sentence = "undecided whether a cheaper effort than high is not worse by more than 0.01"
    assert f"starter: {sentence}: about" in axis.run.output
    assert "about 431 more examples would tell for medium" in axis.run.output
    page = (axis.run.folder / "run" / "report.html").read_text("utf-8")
    assert sentence in page
    assert "Score and price of starter by effort" in page
    summary = json.loads((axis.run.folder / "run" / "summary.json").read_text())
    markdown = summary_markdown(RunFacts.from_json(axis.run.facts), summary)
    assert "by effort" in markdown
    assert "| <code>medium</code> | 1.000 |" in markdown


def test_stored_answers_give_the_same_records(axis: Axis) -> None:
    before = len(axis.thinker.asked)
    share = "--bench-store=../0/answers"
    spread = run_inside(axis.folder / "1", axis.server, SEVERAL, share, count=COUNT, model=REASONS)
    assert len(axis.thinker.asked) == before
    assert spread.facts["store_hits"] == COUNT * len(EFFORTS)
    # Stored answers cost nothing now, but they have the same price in a report.
    assert _without_times(spread) == _without_times(axis.run)
    blocks = [_block(run) for run in (axis.run, spread)]
    for block in blocks:
        for figures in block["settings"].values():
            del figures["seconds"]
    assert blocks[0] == blocks[1]

    # A run with one effort finds its answers, and has the ids of a run without efforts.
    single = run_inside(
        axis.folder / "2", axis.server, "--bench-effort=low", share, count=COUNT, model=REASONS
    )
    assert len(axis.thinker.asked) == before
    assert single.facts["effort"] == "low"
    assert {record.effort for record in single.records.values()} == {"low"}
    assert all(case_id.count("/") == 3 for case_id in single.records)
    assert (
        "efforts"
        not in json.loads((single.folder / "run" / "summary.json").read_text())["benchmarks"][
            "starter"
        ]
    )

    runs = [run.folder / "run" for run in (axis.run, spread)]
    comparison = compare_runs(*runs)
    assert comparison.answers.same_text == COUNT * len(EFFORTS)
    kinds = {scope.name: scope for scope in comparison.scopes if scope.kind == "effort"}
    assert {name: scope.measures["performance"].after for name, scope in kinds.items()} == {
        effort: ANSWERS[effort] / COUNT for effort in EFFORTS
    }
    assert all(scope.n_cases == COUNT for scope in kinds.values())
    assert len(comparison.configurations) == len(EFFORTS)


def test_the_plan_prices_each_effort_by_its_stored_answers(axis: Axis) -> None:
    planned = run_inside(
        *(axis.folder / "3", axis.server, "--bench-plan", "--bench-store=../0/answers"),
        *("--bench-effort=none,low,high", "--bench-repeats=2"),
        count=COUNT,
        model=REASONS,
    )
    rows = {
        words[0]: words[1:]
        for line in planned.output.splitlines()
        if (words := line.split()) and words[0] in {"none", "low", "high"}
    }
    limit = 8192 + 512
    assert rows["none"][:3] == ["12", "0", f"{12 * limit:,}"]
    assert rows["none"][-2:] == ["-", "-"]
    assert rows["low"][:3] == ["6", "6", f"{6 * limit:,}"]
    assert (rows["low"][-2], rows["high"][-2]) == ("20", "500")


def test_a_refused_effort_is_never_left_out(tmp_path: Path) -> None:
    script = Script(2)

    def refuse(body: dict[str, Any]) -> Behaviour:
        if body.get("reasoning_effort") == "high":
            return error(400, "Unsupported parameter: 'reasoning_effort'")
        return script(body)

    with OpenAIServer(refuse) as server:
        run = run_inside(tmp_path, server, "--bench-effort=low,high", count=2, model=REASONS)
        assert {request.body["reasoning_effort"] for request in server.requests} == {"low", "high"}
    outcomes = {(record.effort, record.outcome) for record in run.records.values()}
    assert outcomes == {("low", "right"), ("high", "no_answer")}
    assert _block(run)["cheapest"] is None
