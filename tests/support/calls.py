"""Single calls through litellm from an ordinary test."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import MAX_REPLY, LiteLLMModel, Message, Request
from pytest_tablebench.models.litellm_load import READ_ONLY
from pytest_tablebench.models.model_table import litellm_version, not_tested
from pytest_tablebench.models.openai_wire import WireModel
from tests.support.loop_thread import Blocking
from tests.support.openai_server import OpenAIServer

# The two clients for a server of OpenAI's protocol: OpenAI's and litellm's.
MODELS = ["openai/test-model", "hosted_vllm/test"]
GENEROUS_S = 30.0

# litellm loads some modules at its first call. Their warnings as errors would leave the modules
# half loaded.
QUIETLY = pytest.mark.filterwarnings(f"ignore:{READ_ONLY}:UserWarning")

# Other releases make all calls themselves.
TESTED_LITELLM = pytest.mark.skipif(
    not_tested(litellm_version()) is not None, reason="direct calls need another litellm"
)

Make = Callable[..., Blocking]


def plain(
    name: str,
    server: OpenAIServer | str,
    *,
    timeout: float = GENEROUS_S,
    max_reply: int = MAX_REPLY,
) -> LiteLLMModel:
    """Return a model at a server or an address."""
    url = server if isinstance(server, str) else server.url
    return LiteLLMModel(model=name, api_base=url, timeout=timeout, max_reply=max_reply)


def direct(model: LiteLLMModel) -> WireModel:
    """Return the same model, called without litellm's client if possible."""
    return WireModel(model, connections=64, tell=lambda _: None)


def asking(**params: Any) -> Request:
    """Return a short request with these parameters."""
    messages = (Message("system", "Be short."), Message("user", "How old is Sophia?"))
    return Request("test", messages, params)


def failing(model: Blocking, request: Request | None = None) -> ModelError:
    """Return the error of a failing call, after checks that apply to every error."""
    with pytest.raises(ModelError) as caught:
        model.complete(request or asking())
    failure = caught.value
    assert "\n" not in str(failure)
    # A traceback also shows the causes, which contain headers and keys.
    assert failure.__cause__ is None
    assert failure.__context__ is None or failure.__suppress_context__
    return failure
