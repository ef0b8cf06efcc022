"""`icot` with a server that continues a model's turn, and with one that refuses to."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_tablebench.results import Record, read_records
from pytest_tablebench.results.texts import TranscriptText, read_texts
from tests.support.openai_server import Behaviour, OpenAIServer, error, text
from tests.support.runs import examples, right, run_pytest

SO_FAR = "I look.\n```python\nprint(len(df))\n```"


class Turns:
    """Models that write a program, and an answer after its output."""

    def __init__(self) -> None:
        self.answer = right(examples(1)[0])
        self.bodies: dict[str, list[dict[str, Any]]] = {"refuses": [], "continues": []}

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        self.bodies[body["model"]].append(body)
        last = body["messages"][-1]
        if body["model"] == "refuses" and last["role"] == "assistant":
            return error(400, "the last message must be the user's")
        shown = "```CodeExecuteResult\n" in last["content"]
        return text(f"\\boxed{{{self.answer}}}" if shown else f"{SO_FAR}\nmade up")

    def roles(self, model: str) -> list[str]:
        """Return the role of the last message of each request."""
        return [body["messages"][-1]["role"] for body in self.bodies[model]]


def record_and_speakers(folder: Path) -> tuple[Record, list[str]]:
    """Return the only record of a run, and the speakers of its turns."""
    [record] = read_records(folder)
    texts = read_texts(folder / "texts.jsonl.gz")
    [turns] = [text.turns for text in texts if isinstance(text, TranscriptText)]
    return record, [speaker for speaker, _ in turns]


def test_icot_continues_the_turn_or_restates_it_in_a_user_message(tmp_path: Path) -> None:
    decide = Turns()
    models = ("openai/refuses", "hosted_vllm/continues")
    with OpenAIServer(decide) as server:
        run = run_pytest(
            tmp_path, server, "--bench-strategy=icot", f"--model={models[1]}", model=models[0]
        )
    assert run.exit_code == 0, run.output
    [refusing, going_on] = (
        record_and_speakers(tmp_path / "run" / name.replace("/", "-")) for name in models
    )
    assert decide.roles("refuses") == ["user", "assistant", "user"]
    assert SO_FAR in decide.bodies["refuses"][-1]["messages"][-1]["content"]
    assert (refusing[0].outcome, list(refusing[0].flags)) == ("right", ["turn_restated"])
    assert refusing[1] == ["reply", "program", "output", "user", "reply"]
    assert decide.roles("continues") == ["user", "assistant"]
    assert (going_on[0].outcome, list(going_on[0].flags)) == ("right", [])
    assert going_on[1] == ["reply", "program", "output", "reply"]
    first, second = decide.bodies["continues"]
    assert second["messages"][-1]["content"].startswith(f"{SO_FAR}\n```CodeExecuteResult\n")
    # vLLM closes the turn and starts another one unless both are set.
    assert second["continue_final_message"] is True
    assert second["add_generation_prompt"] is False
    assert not {"continue_final_message", "add_generation_prompt"} & first.keys()
