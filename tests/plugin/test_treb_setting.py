"""`--bench-setting=treb`: parameters, and prompts cut to the model's context."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.runs import LITELLM, MODEL, Run, run_inside
from tests.support.treb_files import HARBOURS, sample, write_samples

SUITE = """
import pytest


@pytest.mark.tablebench("treb_table_selection")
def test_treb(case, answer):
    pass
"""
SETTING = ("--bench-setting=treb", "--bench-strategy=tcot", "--bench-data=data")
LONG = " a" * 2000


class Server:
    """Answers every request."""

    def __init__(self) -> None:
        self.bodies: list[dict[str, Any]] = []

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        self.bodies.append(body)
        return text("30")


def run(folder: Path, server: OpenAIServer, *arguments: str, model: str = LITELLM) -> Run:
    questions = [sample("Table_Selection"), sample("Table_Selection", 2, question=LONG)]
    write_samples(folder / "data" / "treb" / "Table_Selection.json", questions)
    (folder / "data" / "treb" / "csv").mkdir(exist_ok=True)
    (folder / "data" / "treb" / "csv" / "harbours.csv").write_text(HARBOURS, encoding="utf-8")
    return run_inside(folder, server, *SETTING, *arguments, count=2, model=model, suite=SUITE)


def outcomes(done: Run) -> dict[str, tuple[Any, ...]]:
    return {
        name: (record.raw, tuple(record.flags), record.prompt_digest)
        for name, record in done.records.items()
    }


def test_the_setting_sends_its_parameters_and_cuts_long_prompts(tmp_path: Path) -> None:
    taking = Server()
    context = "--bench-context=1128"
    with OpenAIServer(taking) as server:
        done = run(tmp_path / "0", server, context, "-n0")
        assert len(taking.bodies) == 2, done.output
        # Workers find the stored answers only if they make the same prompts.
        stored = ("--bench-replay", "--bench-store=../0/answers")
        replay = run(tmp_path / "1", server, context, "-n1", *stored)
        assert len(taking.bodies) == 2, replay.output
    published = {"temperature": 0.2, "top_p": 0.9, "repetition_penalty": 1.1}
    for body in taking.bodies:
        assert {name: body.get(name) for name in published} == published
        assert not {"max_tokens", "max_completion_tokens"} & set(body)
    long = [body for body in taking.bodies if " a a a" in body["messages"][-1]["content"]]
    assert len(long) == 1
    # The table follows the question, so the cut removes it.
    assert all(body["messages"][-1]["content"].endswith(" a") for body in long)
    cut = {id_[-1]: "prompt_cut" in record.flags for id_, record in done.by_number.items()}
    assert cut == {"1": False, "2": True}
    assert outcomes(done) == outcomes(replay)
    assert "prompts are not cut" not in done.output


def test_with_an_unknown_context_no_prompt_is_cut(tmp_path: Path) -> None:
    taking = Server()
    with OpenAIServer(taking) as server:
        done = run(tmp_path, server, model=MODEL)
    assert len(taking.bodies) == 2, done.output
    assert done.output.count("prompts are not cut, because the model's context is unknown") == 1
    assert not any("prompt_cut" in record.flags for record in done.records.values())
