"""Replies that are too long, mangled, or have wrong token counts."""

from __future__ import annotations

from pathlib import Path

from tests.support.openai_server import OpenAIServer, nonsense, packed, text
from tests.support.runs import LITELLM, Script, right, run_inside

NEGATIVE = (-100_000, -1_000)


def test_a_run_survives_replies_of_any_shape(tmp_path: Path) -> None:
    script = Script(6)
    answers = [right(example) for example in script.examples]
    script._plan = {
        0: [text("漢" * 1_000_000)],
        1: [text(answers[1] + " " * 5_000_000)],
        2: [nonsense(b"[" * 100_000), text(answers[2])],
        3: [packed(b"no gzip"), text(answers[3])],
        4: [text(answers[4], usage=NEGATIVE)],
    }
    with OpenAIServer(script) as server:
        run = run_inside(tmp_path, server, "--bench-max-reply=5000", count=6, model=LITELLM)
        assert server.calls == 8
    records = [run.by_number[example.id] for example in script.examples]
    assert [record.outcome for record in records] == ["wrong", *["right"] * 5], run.output
    assert [list(record.flags) for record in records] == [["cut"], ["cut"], [], [], [], []]
    assert [len((record.raw or "").encode()) for record in records[:2]] == [4998, 5000]
    assert [record.prompt_tokens for record in records] == [7, 7, 7, 7, None, 7]
    assert run.facts["max_reply"] == 5000
    assert run.facts["calls_repeated"] == 2
