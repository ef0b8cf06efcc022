"""`icot` with a server that continues a model's turn."""

from __future__ import annotations

from typing import Any

from pytest_tablebench.results.texts import TranscriptText, read_texts
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.toy_bench import Bench

SO_FAR = "I look.\n```python\nprint(len(df))\n```"
OPTIONS = ("--bench-strategy=icot", "--bench-limit=1", "--bench-serializer=csv")


def test_icot_continues_the_turn_of_a_model_served_by_vllm(bench: Bench) -> None:
    bodies: list[dict[str, Any]] = []

    def decide(body: dict[str, Any]) -> Behaviour:
        bodies.append(body)
        shown = "```CodeExecuteResult\n" in body["messages"][-1]["content"]
        return text("\\boxed{36}" if shown else f"{SO_FAR}\nmade up")

    with OpenAIServer(decide) as server:
        bench.run("--model=hosted_vllm/continues", f"--bench-api-base={server.url}", *OPTIONS)
    record = bench.record()
    assert (record["outcome"], record["flags"]) == ("right", [])
    texts = read_texts(bench.path / "run" / "texts.jsonl.gz")
    [turns] = [text.turns for text in texts if isinstance(text, TranscriptText)]
    assert [speaker for speaker, _ in turns] == ["reply", "program", "output", "reply"]
    first, second = bodies
    assert first["messages"][-1]["role"] == "user"
    assert second["messages"][-1]["role"] == "assistant"
    assert second["messages"][-1]["content"].startswith(f"{SO_FAR}\n```CodeExecuteResult\n")
    # vLLM closes the turn and starts another one unless both are set.
    assert second["continue_final_message"] is True
    assert second["add_generation_prompt"] is False
    assert not {"continue_final_message", "add_generation_prompt"} & first.keys()
