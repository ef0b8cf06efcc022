"""A run with a model that thinks, on both transports: scores, cut-off replies, rejudging."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tablebench.running.rejudge import rejudge
from tests.support.openai_server import Behaviour, OpenAIServer
from tests.support.runs import Run, Script, right, run_inside
from tests.support.thinking_replies import CUT_STYLES, STYLES, THOUGHTS, openai_cut, openai_shape

COUNT = len(STYLES) + len(CUT_STYLES)
CUT = range(len(STYLES), COUNT)
OPTIONS = ("--bench-reasoning-tokens=0", "--bench-gate=all.cut_off <= 0.05")


class Thinker(Script):
    """Answers each example in the shape of another server; the last replies are cut off."""

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        number = self.number(body)
        assert number is not None
        self.asked[number] += 1
        if number in CUT:
            return openai_cut(CUT_STYLES[number - len(STYLES)])
        return openai_shape(STYLES[number], right(self.examples[number]))


@pytest.fixture(scope="module", params=["direct", "litellm"])
def thinking(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp(request.param)
    with OpenAIServer(Thinker(COUNT)) as server:
        transport = f"--bench-transport={request.param}"
        model = "mistral/magistral-small"  # its servers may send content blocks
        options: dict[str, Any] = {"count": COUNT, "model": model, "page": True}
        return run_inside(folder, server, transport, *OPTIONS, **options)


def test_answers_after_thinking_are_right_and_cut_off_replies_missing(thinking: Run) -> None:
    examples = Script(COUNT).examples
    records = [thinking.by_number[example.id] for example in examples]
    assert [record.outcome for record in records] == ["right"] * len(STYLES) + ["no_answer"] * len(
        CUT
    ), thinking.output
    cut = records[len(STYLES) :]
    assert {record.reason for record in cut} == {"cut_off"}
    assert {(record.score, record.completion_tokens) for record in cut} == {(None, 30)}
    assert {tuple(record.flags) for record in records} == {()}
    whole = [STYLES.index("gpt-oss"), STYLES.index("magistral"), STYLES.index("qwen3")]
    assert all(THOUGHTS in (records[number].raw or "") for number in whole)


def test_cut_off_replies_are_counted_shown_and_gated(thinking: Run) -> None:
    summary = json.loads((thinking.folder / "run" / "summary.json").read_text("utf-8"))
    scope = summary["benchmarks"]["starter"]["datasets"]["starter"]
    assert (scope["cut_off"], scope["truncated"], scope["cut_at"]) == (6 / 16, 0.0, [512, 512])
    assert scope["reasons"] == {"cut_off": 6}
    assert (
        "37.5 % of the replies were cut off at 512 tokens: --bench-extend-cut 4096 asks only these "
        "again (37.5 % contain no answer)" in thinking.output
    )
    page = (thinking.folder / "run" / "report.html").read_text("utf-8")
    assert "were cut off at 512 tokens: --bench-extend-cut 4096" in page
    assert "6 cases, 0 of them scored" in page
    assert thinking.exit_code == 10
    assert "6 of 16 cases were cut off before an answer (0.375)" in thinking.output
    assert thinking.facts["calls_paid"] == COUNT


def test_rejudging_in_reference_mode_scores_whole_replies(thinking: Run) -> None:
    folder = thinking.folder / "run"
    rejudged = rejudge(folder, compat="reference")
    by_id = {record.example_id: record for record in rejudged.run.records}
    records = [by_id[example.id] for example in Script(COUNT).examples]
    assert {record.outcome for record in records[len(STYLES) :]} == {"wrong"}
    assert {tuple(record.flags) for record in records[len(STYLES) :]} == {("truncated",)}
    # Thoughts that the server or litellm separates are not in the text that published code reads.
    outcomes = {style: record.outcome for style, record in zip(STYLES, records, strict=False)}
    assert outcomes["gpt-oss"] == outcomes["magistral"] == outcomes["qwen3"] == "wrong"
    assert outcomes["deepseek api"] == outcomes["o-series"] == "right"
    again = rejudge(folder, compat="fixed")
    assert (again.rescored, again.better, again.worse) == (0, 0, 0)
