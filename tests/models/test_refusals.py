"""Messages of servers about parameters that a model does not take."""

from __future__ import annotations

import json
from typing import Any

import pytest

from pytest_tablebench.models import Message, Request
from pytest_tablebench.models._refusals import refused_part
from tests.support.calls import QUIETLY, Make, asking, failing
from tests.support.openai_server import Behaviour, OpenAIServer

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

PARAMS: dict[str, Any] = {
    "temperature": 0,
    "max_tokens": 512,
    "stop": ["\n"],
    "seed": 1,
    "top_p": 0.9,
    "reasoning_effort": "low",
}
REQUEST = Request("m", (Message("system", "Be short."), Message("user", "Age?")), PARAMS)

SAID = [
    # OpenAI
    (
        "Unsupported parameter: 'temperature' is not supported with this model.",
        "temperature",
        "temperature",
    ),
    (
        "Unsupported value: 'temperature' does not support 0 with this model. Only the default (1) "
        "value is supported.",
        "temperature",
        "temperature",
    ),
    (
        "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
        "'max_completion_tokens' instead.",
        "max_tokens",
        "max_tokens",
    ),
    ("Unsupported parameter: 'stop' is not supported with this model.", None, "stop"),
    # Anthropic, xAI, Groq, vLLM, Gemma's template
    ("`temperature` may only be set to 1 when thinking is enabled.", None, "temperature"),
    ("stop_sequences: Extra inputs are not permitted", None, "stop"),
    ("Argument not supported on this model: seed", None, "seed"),
    ("`reasoning_effort` is not supported with this model", None, "reasoning_effort"),
    ("System role not supported", None, "system"),
    # TGI, GigaChat, pydantic
    ("temperature must be strictly positive", None, "temperature"),
    ("Invalid params: temperature must be in range (0, +inf)", None, "temperature"),
    ("temperature: Input should be greater than 0", None, "temperature"),
    ("top_p must be greater than 0", None, None),
    ("temperature must be greater than 0.1", None, None),
    # A wrong value, a limit, and messages about no parameter.
    ("Invalid 'temperature': must be between 0 and 2, 5 is not supported", "temperature", None),
    ("max_tokens is too large: 512. This model supports at most 256", "max_tokens", None),
    ("Unsupported parameter: 'max_tokens' is not supported with this model.", "max_tokens", None),
    ("logprobs are not supported with this model", "logprobs", None),
    ("This model is not available in your country", None, None),
    ("the temperature of the server is 40 degrees", None, None),
]


@pytest.mark.parametrize(("said", "param", "part"), SAID)
def test_the_refused_parameter_or_part_is_recognized(
    said: str, param: str | None, part: str | None
) -> None:
    body = json.dumps({"error": {"message": said, "param": param, "code": None}})
    assert refused_part(body, REQUEST) == part
    if part is not None:
        assert refused_part(said, REQUEST) == part


@pytest.mark.parametrize("body", ["[" * 5000, '{"error": 3}', '{"error": {"message": 3}}', "{}"])
def test_unrelated_bodies_refuse_nothing(body: str) -> None:
    assert refused_part(body, REQUEST) is None


@pytest.mark.parametrize("status", [400, 422])
def test_the_error_of_a_call_names_the_refused_parameter(
    make: Make, name: str, openai_server: OpenAIServer, status: int
) -> None:
    said = {"message": SAID[0][0], "type": "invalid_request_error", "param": "temperature"}
    openai_server.always(Behaviour(json.dumps({"error": said}).encode(), status=status))
    assert failing(make(name, openai_server), asking(temperature=0)).refused == "temperature"
    assert failing(make(name, openai_server), asking(max_tokens=5)).refused is None
