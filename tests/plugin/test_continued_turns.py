"""`icot` with a server that continues a model's turn, and with a model that refuses to."""

from __future__ import annotations

from typing import Any

from pytest_tablebench.results.texts import TranscriptText, read_texts
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.toy_bench import CONFTEST, Bench

SO_FAR = "I look.\n```python\nprint(len(df))\n```"
OPTIONS = ("--bench-strategy=icot", "--bench-limit=1", "--bench-serializer=csv")
REFUSES = f"""
class Refuses:
    def complete(self, request):
        last = request.messages[-1]
        log("ask", last.role, last.content)
        if last.role == "assistant":
            raise ModelError("the last message must be the user's", reason="bad_request")
        shown = "```CodeExecuteResult\\n" in last.content
        return Reply("\\\\boxed{{36}}" if shown else {SO_FAR!r} + "\\nmade up")


def pytest_tablebench_register_provider(register):
    register("refuses", lambda model, settings: Refuses())
"""


def flags_and_speakers(bench: Bench) -> tuple[list[str], list[str]]:
    """Return the flags of the only record, which is right, and the speakers of its turns."""
    record = bench.record()
    assert record["outcome"] == "right"
    texts = read_texts(bench.path / "run" / "texts.jsonl.gz")
    [turns] = [text.turns for text in texts if isinstance(text, TranscriptText)]
    return record["flags"], [speaker for speaker, _ in turns]


def test_icot_restates_a_turn_that_a_model_refuses_to_continue(bench: Bench) -> None:
    bench.pytester.makeconftest(CONFTEST + REFUSES)
    bench.run("--model=refuses/any", *OPTIONS)
    flags, speakers = flags_and_speakers(bench)
    assert flags == ["turn_restated"]
    assert speakers == ["reply", "program", "output", "user", "reply"]
    calls = bench.calls("ask")
    assert [role for role, _ in calls] == ["user", "assistant", "user"]
    assert SO_FAR in calls[-1][1]


def test_icot_continues_the_turn_of_a_model_served_by_vllm(bench: Bench) -> None:
    bodies: list[dict[str, Any]] = []

    def decide(body: dict[str, Any]) -> Behaviour:
        bodies.append(body)
        shown = "```CodeExecuteResult\n" in body["messages"][-1]["content"]
        return text("\\boxed{36}" if shown else f"{SO_FAR}\nmade up")

    with OpenAIServer(decide) as server:
        bench.run("--model=hosted_vllm/continues", f"--bench-api-base={server.url}", *OPTIONS)
    assert flags_and_speakers(bench) == ([], ["reply", "program", "output", "reply"])
    first, second = bodies
    assert first["messages"][-1]["role"] == "user"
    assert second["messages"][-1]["role"] == "assistant"
    assert second["messages"][-1]["content"].startswith(f"{SO_FAR}\n```CodeExecuteResult\n")
    # vLLM closes the turn and starts another one unless both are set.
    assert second["continue_final_message"] is True
    assert second["add_generation_prompt"] is False
    assert not {"continue_final_message", "add_generation_prompt"} & first.keys()
