"""Parameters that the server refuses are left out, reported once and recorded."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from tests.support.openai_server import Behaviour, OpenAIServer, error
from tests.support.runs import LITELLM, Run, Script, run_inside

COUNT = 6
SAID = "Unsupported parameter: '{}' is not supported with this model."
STOP = '--bench-param=stop=["###"]'


class Refusing:
    """Refuses `temperature`, and then `stop`."""

    def __init__(self) -> None:
        self.answered: list[dict[str, Any]] = []
        self._script = Script(COUNT)

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        for name in ("temperature", "stop"):
            if name in body:
                return error(400, SAID.format(name))
        self.answered.append(body)
        return self._script(body)


class Full:
    """Has room for replies of 450 tokens."""

    def __init__(self) -> None:
        self.limits: list[int] = []
        self._script = Script(COUNT)

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        self.limits.append(body["max_tokens"])
        if body["max_tokens"] > 450:
            return error(
                400,
                "'max_tokens' or 'max_completion_tokens' is too large: 512. This model's maximum "
                "context length is 600 tokens and your request has 150 input tokens "
                "(512 > 600 - 150).",
            )
        return self._script(body)


def test_a_reply_gets_the_room_that_a_prompt_leaves(tmp_path: Path) -> None:
    full = Full()
    with OpenAIServer(full) as server:
        run = run_inside(
            tmp_path, server, "--bench-param=max_tokens=512", count=COUNT, model=LITELLM
        )
    assert run.exit_code == 0, run.output
    assert {record.outcome for record in run.records.values()} == {"right"}
    assert sorted(full.limits) == [450] * COUNT + [512] * COUNT


def check(run: Run) -> None:
    assert run.exit_code == 0, run.output
    assert {record.outcome for record in run.records.values()} == {"right"}
    assert set(run.facts["params_sent"]) == {"max_tokens"}
    assert set(run.facts["params_dropped"]) == {"temperature", "stop"}
    assert "not supported with this model" in run.facts["params_dropped"]["stop"]


def test_parameters_that_the_server_refuses_are_left_out(tmp_path: Path) -> None:
    refusing = Refusing()
    with OpenAIServer(refusing) as server:
        first = run_inside(tmp_path / "0", server, STOP, "-n2", count=COUNT, model=LITELLM)
        check(first)
        assert len(refusing.answered) == COUNT
        for name in ("temperature", "stop"):
            assert first.output.count(f"{name} is left out from now on") == 1, first.output

        # Later runs leave them out and find the stored answers.
        share = ("--bench-store=../0/answers", STOP)
        calls = server.calls
        again = run_inside(tmp_path / "1", server, *share, count=COUNT, model=LITELLM)
        check(again)
        assert server.calls == calls
        assert "temperature is not sent" in again.output
        assert again.facts["store_hits"] == COUNT


def test_a_server_without_tools_is_asked_no_further_case(tmp_path: Path) -> None:
    bodies: list[dict[str, Any]] = []

    def refuse(body: dict[str, Any]) -> Behaviour:
        bodies.append(body)
        return error(400, "tools is not supported by this model")

    store = f"--bench-store={tmp_path / 'answers'}"
    options = ("--bench-strategy=tools", store)
    with OpenAIServer(refuse) as server:
        first = run_inside(tmp_path / "0", server, *options, count=2, model=LITELLM)
        count = len(bodies)
        run_inside(tmp_path / "1", server, *options, count=2, model=LITELLM)
    assert {record.reason for record in first.records.values()} == {"bad_request"}
    assert len(bodies) == count
    assert "tools is left out from now on, because the server refuses it" in first.output


def test_a_model_without_tools_is_refused_before_the_first_call(tmp_path: Path) -> None:
    model = "openai/gpt-3.5-turbo-16k"
    run = run_inside(tmp_path, None, "--bench-strategy=tools", count=1, model=model)
    assert run.exit_code == 4
    assert "calls no tools by litellm's table of models" in run.output
