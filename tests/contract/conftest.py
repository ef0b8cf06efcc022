from __future__ import annotations

import json
import shutil
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.contract.servers import ForeignServer, free_port, interpreter
from tests.support.openai_server import OpenAIServer, text
from tests.support.runs import KEY, examples, right

WINDOW_S = 2
"""What a minute is to the gateway's limits per key."""

UPSTREAM_KEY = "sk-upstream-7d1b"

FILTERED = "Exception: content_filter_policy"  # as the proxy's mock of Azure knows it


@dataclass(frozen=True)
class Gateways:
    """Two of litellm's proxies and the scripted provider behind both.

    `plain` knows its master key only and does not mind failures of the provider; `limited` has
    keys with limits and leaves a provider that failed alone for three seconds.
    """

    plain: ForeignServer
    limited: ForeignServer
    provider: OpenAIServer


def mock(reply: Any, model: str = "openai/mock") -> dict[str, Any]:
    """A model that the proxy answers for by itself."""
    return {"litellm_params": {"model": model, "api_key": "sk-none", "mock_response": reply}}


def models(provider: OpenAIServer) -> list[dict[str, Any]]:
    """What the gateways offer, by name."""
    answer = right(examples(1)[0])
    cut = {
        "index": 0,
        "finish_reason": "length",
        "message": {"role": "assistant", "content": answer},
    }
    relay = {"model": "openai/upstream", "api_key": UPSTREAM_KEY, "api_base": provider.url}
    azure = {"model": "azure/mock", "api_key": "sk-none", "api_base": "http://127.0.0.1:1"}
    late = {"model": "openai/mock", "api_key": "sk-none", "mock_timeout": True, "timeout": 0.1}
    offered: dict[str, dict[str, Any]] = {
        "relay": {"litellm_params": relay},
        "mock": mock(answer),
        "window": mock("litellm.ContextWindowExceededError"),
        # What the proxy knows about a model it knows by the provider's name for it.
        "small": {**mock(answer, "openai/small"), "model_info": {"max_input_tokens": 20}},
        "length": mock({"choices": [cut]}),
        "crash": mock("litellm.InternalServerError"),
        "busy": mock("litellm.RateLimitError"),
        "filter": {"litellm_params": {**azure, "mock_response": FILTERED}},
        "late": {"litellm_params": late},
    }
    return [{"model_name": name, **model} for name, model in offered.items()]


def start_proxy(
    python: str, folder: Path, provider: OpenAIServer, router: dict[str, Any], **general: Any
) -> ForeignServer:
    folder.mkdir()
    config = {
        "model_list": models(provider),
        "router_settings": {"num_retries": 0, "enable_pre_call_checks": True, **router},
        "litellm_settings": {"num_retries": 0, "telemetry": False},
        "general_settings": {"master_key": KEY, **general},
    }
    # JSON is YAML too.
    (folder / "config.yaml").write_text(json.dumps(config), encoding="utf-8")
    shutil.copy(Path(__file__).parent / "gateway_keys.py", folder)
    port = free_port()
    arguments = ["--config", "config.yaml", "--host", "127.0.0.1", "--port", str(port)]
    return ForeignServer.start(
        python,
        folder,
        port,
        "litellm.proxy.proxy_cli",
        *arguments,
        LITELLM_LOCAL_MODEL_COST_MAP="True",
        LITELLM_LOCAL_ANTHROPIC_BETA_HEADERS="True",
        LITELLM_RATE_LIMIT_WINDOW_SIZE=str(WINDOW_S),
        GATEWAY_KEY=KEY,
    )


@pytest.fixture(scope="session")
def both_gateways(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Gateways]:
    modules = ["litellm", "litellm_proxy_extras"]  # the latter comes with the extra only
    python = interpreter("TABLEBENCH_PROXY_PYTHON", modules, "proxy")
    folder = tmp_path_factory.mktemp("gateways")
    with ExitStack() as stack:
        provider = stack.enter_context(OpenAIServer())
        plain = start_proxy(python, folder / "plain", provider, {"disable_cooldowns": True})
        stack.callback(plain.end)
        limited = start_proxy(
            python,
            folder / "limited",
            provider,
            {"allowed_fails": 0, "cooldown_time": 3},
            custom_auth="gateway_keys.check",
        )
        stack.callback(limited.end)
        for server in (plain, limited):
            server.wait("/health/liveliness")
        yield Gateways(plain, limited, provider)


@pytest.fixture
def gateways(both_gateways: Gateways) -> Gateways:
    """The gateways, with a provider that has not been asked anything."""
    provider = both_gateways.provider
    provider.always(text("ok"))
    provider.requests.clear()
    provider.max_in_flight = 0
    return both_gateways
