"""Reasoning models: token limits, repeated calls and effort."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.compare import compare_runs
from pytest_tablebench.reports.html import write_page
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.runs import LITELLM, Run, Script, right, run_inside

COUNT = 6
REASONS = "openai/o3-mini"
"""A model that litellm's table marks as reasoning, with at most 100,000 tokens of replies."""


PLAIN = "The answer"
"""The start of a reply without any sign of thinking."""


class Thinker:
    """Answers questions in `needs` only with at least so many tokens, and all others."""

    def __init__(self, needs: dict[int, tuple[int, str]]) -> None:
        self.script = Script(COUNT)
        self.limits: list[tuple[int, int]] = []
        """The number of each question asked, and its limit."""
        self._needs = needs

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        number = self.script.number(body)
        assert number is not None
        limit = body.get("max_completion_tokens") or body["max_tokens"]
        self.limits.append((number, limit))
        least, start = self._needs.get(number, (0, ""))
        if limit < least:
            thought = None if start == PLAIN else 20
            return text(start, finish_reason="length", usage=(50, 30), thought=thought)
        return text(right(self.script.examples[number]), usage=(50, 30), thought=20)


def outcomes(run: Run, thinker: dict[int, tuple[int, str]]) -> list[tuple[Any, ...]]:
    examples = Script(COUNT).examples
    records = [run.by_number[examples[number].id] for number in sorted(thinker)]
    return [
        (record.outcome, record.reason, list(record.flags), record.reply_limit)
        for record in records
    ]


def test_replies_cut_off_while_thinking_are_asked_again_with_more_tokens(tmp_path: Path) -> None:
    needs = {1: (600, ""), 2: (600, "<think>Let me"), 3: (600, PLAIN), 4: (9999, "")}
    thinker = Thinker(needs)
    with OpenAIServer(thinker) as server:
        alone = run_inside(tmp_path / "0", server, count=COUNT, model=LITELLM)
        once = [(number, 512) for number in range(COUNT)]
        assert sorted(thinker.limits) == sorted([*once, (1, 8704), (2, 8704), (4, 8704)])
        assert outcomes(alone, needs) == [
            ("right", None, ["extended"], 8704),
            ("right", None, ["extended"], 8704),
            ("wrong", None, ["truncated"], 512),
            ("no_answer", "cut_off", ["extended"], 8704),
        ]
        assert alone.facts["calls_paid"] == COUNT + 3
        paid = {"thinking_tokens": 160, "cases_extended": 3}
        assert paid.items() <= alone.facts.items()
        summary = json.loads((alone.folder / "run" / "summary.json").read_text())
        assert paid.items() <= summary.items()
        assert "3 cases were asked again with a higher token limit" in alone.output
        thinking = "160 of the tokens of the replies were thinking"
        assert thinking in alone.output
        write_page(alone.folder / "run", tmp_path / "page.html")
        assert (tmp_path / "page.html").read_text("utf-8").count(thinking) == 1
        tokens = [
            alone.by_number[example.id].reasoning_tokens for example in thinker.script.examples
        ]
        assert tokens == [20, 40, 40, None, 40, 20]

        # Only what was cut off is asked again.
        thinker.limits.clear()
        share = "--bench-store=../0/answers"
        extended = run_inside(
            *(tmp_path / "2", server, share, "--bench-extend-cut=20000"),
            count=COUNT,
            model=LITELLM,
        )
        assert sorted(thinker.limits) == [(3, 20000), (4, 20000)]
        last = ("right", None, ["extended"], 20000)
        assert outcomes(extended, needs) == [*outcomes(alone, needs)[:2], last, last]
        comparison = compare_runs(alone.folder / "run", extended.folder / "run")
        assert (comparison.before.extended, comparison.after.extended) == (3, 4)


def test_a_reasoning_model_has_more_tokens_from_the_first_call(tmp_path: Path) -> None:
    thinker = Thinker({})
    with OpenAIServer(thinker) as server:
        run = run_inside(tmp_path / "0", server, "--bench-effort=low", count=COUNT, model=REASONS)
        assert thinker.limits
        assert {limit for _, limit in thinker.limits} == {8704}
        assert {request.body.get("reasoning_effort") for request in server.requests} == {"low"}
        assert {"max_tokens", "temperature"}.isdisjoint(server.requests[0].body)
        sent = {"max_completion_tokens": 8704, "reasoning_effort": "low"}
        assert run.facts["params_sent"] == sent
        assert run.facts["reasoning_tokens"] == 8192
        assert "max_completion_tokens=8704" in run.output

        share = "--bench-store=../0/answers"
        plan = ("--bench-plan", "--bench-effort=high", "--bench-reasoning-tokens=1488")
        planned = run_inside(tmp_path / "1", server, share, *plan, count=COUNT, model=REASONS)
        assert f"{COUNT * 2000:,}" in planned.output, planned.output

        after = ("--bench-plan", "--bench-effort=low")
        stored = run_inside(tmp_path / "3", server, share, *after, count=COUNT, model=REASONS)
        assert "of thinking        120 tokens in 6 stored replies" in stored.output, stored.output
