"""Direct calls send the same requests as litellm.

Each request is sent to a server on 127.0.0.1 by litellm and then directly.
"""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.models import Request
from pytest_tablebench.models._openai_providers import PARAMETERS, PROVIDERS
from pytest_tablebench.models._sessions import close, direct_session
from pytest_tablebench.models.model_table import TESTED, not_tested
from pytest_tablebench.models.openai_wire import WireModel
from tests.support.both_ways import HOSTED, MESSAGES, NAMES, Both, Fresh
from tests.support.calls import QUIETLY, TESTED_LITELLM, plain
from tests.support.loop_thread import LoopThread
from tests.support.matrix import reduced
from tests.support.openai_server import (
    OpenAIServer,
    Received,
    hang,
    text,
)
from tests.support.tls import make_certificate, server_context
from tests.support.wire_parameters import PARAMS

pytestmark = [QUIETLY, pytest.mark.usefixtures("provider_keys")]


LEFT = {
    *(("groq", "response_format"), ("mistral", "reasoning_effort")),
    ("deepseek", "reasoning_effort"),
}
"""Parameters that litellm or some of its releases rewrite, so litellm makes these calls."""


def headers(received: Received) -> dict[str, str]:
    return {name.lower(): value for name, value in received.headers.items()}


def check(both: Both, request: Request, *, left: bool = False) -> None:
    (theirs, answer), (ours, same) = both.ask(request)
    # litellm fails for a reply of Groq without a service tier.
    assert answer == same or request.model.startswith("groq/")
    if left:
        assert len(both.told) == 1
        return
    if theirs is None:
        assert ours is None  # litellm refuses the parameter, so litellm makes the call
        assert len(both.told) == 1
        return
    assert ours is not None
    assert (ours.path, ours.body) == (theirs.path, theirs.body)
    own, others = headers(ours), headers(theirs)
    # Escapes make one body longer than the other.
    assert abs(int(own.pop("content-length")) - int(others.pop("content-length"))) < 200
    assert own == others
    assert both.told == []


def test_each_parameter_and_provider_is_tested() -> None:
    assert set(PARAMS) - {"the usual", "none"} == PARAMETERS
    assert {name.partition("/")[0] for name in NAMES + HOSTED} == set(PROVIDERS)


@pytest.mark.parametrize("name", NAMES + HOSTED)
def test_direct_requests_equal_litellms(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str
) -> None:
    openai_server.always(text("26", usage=(1000, 100), model=name.partition("/")[2]))
    for kind, params in PARAMS.items():
        request = Request(name, MESSAGES["system"], params)
        left = (name.partition("/")[0], kind) in LEFT
        check(Both(name, openai_server, loop_thread), request, left=left)
    both = Both(name, openai_server, loop_thread)
    for messages in MESSAGES.values():
        check(both, Request(name, messages, {"max_tokens": 64, "seed": 7}))


@pytest.mark.parametrize("name", NAMES[:2] + reduced(HOSTED))
@pytest.mark.parametrize("address", ["", "/", "/chat/completions", "?version=1"])
def test_addresses_are_resolved_as_by_litellm(
    loop_thread: LoopThread, openai_server: OpenAIServer, name: str, address: str
) -> None:
    openai_server.paths = ("/chat/completions", "/chat/completions?version=1", "")
    openai_server.always(text("26"))
    url = openai_server.url + address
    both = Both(name, url, loop_thread)
    both._server = openai_server
    left = "?" in address and PROVIDERS[name.partition("/")[0]].openai_client
    check(both, Request(name, MESSAGES["text"], {}), left=left)


ENVIRONMENTS: dict[str, dict[str, str]] = {
    "organization": {"OPENAI_ORGANIZATION": "org-1", "OPENAI_PROJECT_ID": "proj-1"},
    "address": {"OPENAI_BASE_URL": "{url}", "HOSTED_VLLM_API_BASE": "{url}"},
    "older address": {"OPENAI_API_BASE": "{url}", "HOSTED_VLLM_API_BASE": "{url}"},
    "proxy": {"HTTP_PROXY": "{server}", "NO_PROXY": ""},
    "no proxy": {"HTTP_PROXY": "http://127.0.0.1:9", "NO_PROXY": "127.0.0.1"},
}


@pytest.mark.parametrize("name", NAMES[:2] + HOSTED)
@pytest.mark.parametrize("case", ENVIRONMENTS)
def test_environment_variables_are_read_as_by_litellm(
    *,
    loop_thread: LoopThread,
    openai_server: OpenAIServer,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    case: str,
) -> None:
    url = openai_server.url
    base = f"{name.partition('/')[0].upper()}_API_BASE".replace("MISTRAL", "MISTRAL_AZURE")
    variables = ENVIRONMENTS[case] | ({base: "{url}"} if "address" in case else {})
    for variable, value in variables.items():
        monkeypatch.setenv(variable, value.format(url=url, server=url.removesuffix("/v1")))
    address: Any = url
    if "address" in case:
        address = None
    if case == "proxy":
        # litellm keeps the client of an address, with its proxy.
        address = f"http://{name.partition('/')[0].replace('_', '-')}.invalid/v1"
        openai_server.paths = (f"{address}/chat/completions",)
    both = Both(name, url, loop_thread)
    for model in (both._plain, both._direct._model):
        object.__setattr__(model, "api_base", address)
    both._server = openai_server
    openai_server.always(text("26"))
    check(both, Request(name, MESSAGES["text"], {}))


@pytest.mark.parametrize("name", ["openai/test-model", "hosted_vllm/test", *reduced(HOSTED)])
def test_a_self_signed_certificate_is_trusted_only_if_configured(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    certificate = make_certificate(tmp_path)
    request = Request(name, MESSAGES["system"], {"temperature": 0})
    with OpenAIServer(tls=server_context(certificate)) as server:
        (theirs, answer), (ours, same) = Both(name, server, Fresh()).ask(request)
        assert theirs is ours is None  # not trusted, so no request is sent
        assert isinstance(answer, tuple)
        assert isinstance(same, tuple)
        assert answer[1:] == same[1:] == ("unreachable", True, True, None)
        monkeypatch.setenv("SSL_CERT_FILE", str(certificate))
        check(Both(name, server, Fresh()), request)
        assert server.calls == 2
        monkeypatch.delenv("SSL_CERT_FILE")
        monkeypatch.setenv("SSL_VERIFY", "False")
        check(Both(name, server, Fresh()), request)
        assert server.calls == 4


@TESTED_LITELLM
@pytest.mark.parametrize("name", ["openai/test-model", "hosted_vllm/test"])
def test_a_cancelled_call_closes_its_connection(openai_server: OpenAIServer, name: str) -> None:
    """Ctrl-C cancels the task of a call, which closes the connection."""
    openai_server.always(hang())

    async def broken_off() -> None:
        both = WireModel(plain(name, openai_server), connections=4, tell=lambda _: None)
        call = asyncio.create_task(both.acomplete(Request(name, MESSAGES["text"], {})))
        while not openai_server.calls:
            await asyncio.sleep(0.01)
        call.cancel()
        with pytest.raises(asyncio.CancelledError):
            await call
        opened = direct_session(name.partition("/")[0], 4).connector
        assert opened is not None
        assert not opened._acquired
        await close()
        assert opened.closed
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(broken_off())
    assert openai_server.calls == 1  # litellm did not repeat the call


@TESTED_LITELLM
def test_a_provider_outside_of_the_table_is_called_by_litellm(
    loop_thread: LoopThread, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FIREWORKS_AI_API_KEY", "sk-fireworks-0123456789")
    openai_server.always(text("26"))
    name = "fireworks_ai/accounts/fireworks/models/test"
    for insist in (True, False):
        told: list[str] = []
        model = WireModel(
            plain(name, openai_server), connections=4, tell=told.append, insist=insist
        )
        for _ in range(2):
            reply = loop_thread.run(model.acomplete(Request(name, MESSAGES["text"], {})))
            assert reply.text == "26"
        assert len(told) == insist


@TESTED_LITELLM
def test_the_password_of_an_address_is_sent_instead_of_the_key(
    loop_thread: LoopThread, openai_server: OpenAIServer
) -> None:
    openai_server.always(text("26"))
    url = openai_server.url.replace("://", "://me:a%20b@")
    model = WireModel(plain("hosted_vllm/test", url), connections=4, tell=pytest.fail)
    reply = loop_thread.run(model.acomplete(Request("m", MESSAGES["text"], {})))
    assert reply.text == "26"
    # The base64 form of `me:a b`.
    assert headers(openai_server.requests[0])["authorization"] == "Basic bWU6YSBi"


@TESTED_LITELLM
def test_a_parameter_outside_of_the_table_is_sent_by_litellm(
    loop_thread: LoopThread, openai_server: OpenAIServer
) -> None:
    openai_server.always(text("26"))
    told: list[str] = []
    name = "openai/gpt-4o"
    model = WireModel(plain(name, openai_server), connections=4, tell=told.append)
    for _ in range(2):
        request = Request(name, MESSAGES["text"], {"modalities": ["text"]})
        assert loop_thread.run(model.acomplete(request)).text == "26"
    assert told == [
        "calls to openai/gpt-4o are made by litellm, because of the parameter modalities"
    ]


@pytest.mark.parametrize(
    ("version", "tested"),
    [
        (f"{TESTED[0][0]}.{TESTED[0][1]}.0", True),
        (f"{TESTED[0][0]}.{TESTED[0][1]}.99", True),
        (f"{TESTED[1][0]}.{TESTED[1][1]}.0", False),
        ("1.83.0", False),
        ("2.0.0", False),
        ("1.106", True),
        ("dev", False),
    ],
)
def test_only_tested_releases_of_litellm_are_accepted(version: str, *, tested: bool) -> None:
    warning = not_tested(version)
    assert warning is None if tested else version in str(warning)


def test_an_untested_release_of_litellm_makes_all_calls(
    loop_thread: LoopThread, openai_server: OpenAIServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(
        "pytest_tablebench.models._openai_providers.litellm_version", lambda: "9.9.9"
    )
    monkeypatch.setattr("pytest_tablebench.models.openai_wire.litellm_version", lambda: "9.9.9")
    openai_server.always(text("26"))
    told: list[str] = []
    made = plain("openai/gpt-4o", openai_server)
    request = Request("openai/gpt-4o", MESSAGES["text"], {})
    for insist in (False, True):
        model = WireModel(made, connections=4, tell=told.append, insist=insist)
        assert loop_thread.run(model.acomplete(request)).text == "26"
        assert model._by_litellm
    # Only a run with --bench-transport=direct reports it; `tablebench doctor` always does.
    assert ["litellm 9.9.9 makes all calls itself" in line for line in told] == [True]
