"""Kept translations: one process makes them, and others call from them without litellm."""

from __future__ import annotations

import json
import os
import shutil
import ssl
import subprocess
import sys
from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.models import LiteLLMModel, Message, Request
from pytest_tablebench.models._direct_wires import Wire, encoder
from pytest_tablebench.models.direct import DirectModel
from pytest_tablebench.models.litellm_facts import DIRECT
from pytest_tablebench.models.translated import TranslatedModel
from pytest_tablebench.models.translation import kept
from pytest_tablebench.models.translation.check import SentRequest, differences
from pytest_tablebench.models.translation.environment import RecordedEnvironment, record
from pytest_tablebench.models.translation.kept import KeptWire, Translation
from pytest_tablebench.models.translation.making import filled_body, texts_by_slot
from pytest_tablebench.models.translation.pieces import Pieces, probe, shape
from pytest_tablebench.models.translation.price import PriceFormula, fit
from pytest_tablebench.models.translation.tls import described, rebuilt
from pytest_tablebench.serializers.content import Content
from tests.support.loop_thread import LoopThread
from tests.support.openai_server import Behaviour, OpenAIServer, Received, nonsense, text

KEY = "sk-local-0123456789abcdef"
MODEL = LiteLLMModel(model="openai/gpt-4o", api_base="http://127.0.0.1:9/v1", timeout=30.0)
REQUEST = Request("openai/gpt-4o", (Message("user", "How old?"),), {"max_tokens": 9})


LEFT = {"groq/llama-3.3-70b-versatile system response_format"}
"""Calls that litellm makes itself."""


def environment(**changes: str) -> dict[str, str]:
    """Return the variables of a process that has a key for every provider and no proxy."""
    variables = {
        name: value
        for name, value in os.environ.items()
        if not name.lower().endswith("_proxy") and not name.startswith("LITELLM_")
    }
    for provider in DIRECT:
        variables[f"{provider.replace('_ai', 'ai').upper()}_API_KEY"] = KEY
    return {**variables, **changes}


def run(mode: str, folder: Path, server: OpenAIServer, *calls: str, **changes: str) -> Any:
    """Make calls in a new process; return its output and the requests that the server received."""
    before = len(server.requests)
    process = subprocess.run(
        [
            *(sys.executable, "-m", "tests.support.translation_process"),
            *(mode, str(folder), server.url, *calls),
        ],
        capture_output=True,
        text=True,
        check=False,
        timeout=240,
        env=environment(**changes),
    )
    assert process.returncode == 0, process.stderr
    return json.loads(process.stdout), server.requests[before:], process.stderr


def sent(request: Received) -> tuple[str, Any, dict[str, str]]:
    """Return path, body and headers of a request."""
    headers = {name.lower(): value for name, value in request.headers.items()}
    del headers["content-length"]  # litellm escapes other characters
    return request.path, request.body, headers


@pytest.fixture(scope="module")
def server() -> Iterator[OpenAIServer]:
    def decide(request: dict[str, Any]) -> Behaviour:
        # Groq always sends a service tier, and litellm cannot read its replies without one.
        body = text("26", usage=(1000, 100), model=request["model"], fingerprint="fp_1").body
        return nonsense(body.replace(b'"object"', b'"service_tier": "x", "object"', 1))

    with OpenAIServer(decide) as server:
        yield server


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("translations")


@pytest.fixture(scope="module")
def made(server: OpenAIServer, folder: Path) -> Any:
    """The calls of a process that has made all translations."""
    return run("make", folder, server)


def test_calls_from_kept_translations_are_litellms(
    server: OpenAIServer, folder: Path, made: Any
) -> None:
    by_making, _, _ = made
    calls = [
        call
        for call, outcome in by_making["outcomes"].items()
        if isinstance(outcome, dict) and call not in LEFT
    ]
    theirs, their_requests, _ = run("litellm", folder, server, *calls)
    ours, requests, messages = run("use", folder, server, *calls)
    assert len(calls) >= 240  # 8 providers, 23 parameters, texts and pictures
    assert ours["kept"] == calls
    assert ours["importing"] == []
    assert messages == ""
    assert (
        ours["outcomes"]
        == theirs["outcomes"]
        == {call: by_making["outcomes"][call] for call in calls}
    )
    assert list(map(sent, requests)) == list(map(sent, their_requests))


def test_no_key_is_in_a_file(folder: Path, made: Any) -> None:
    assert made[0]["outcomes"]
    files = list(folder.iterdir())
    assert len(files) == 11  # one for each model
    for path in files:
        content = path.read_text("utf-8")
        assert KEY not in content
        assert "tables" not in content  # a value of `extra_headers`
        assert str(os.environ.get("HOME")) not in json.loads(content)["environment"].values()


@pytest.fixture
def copy(folder: Path, made: Any, tmp_path: Path) -> Path:
    """A copy of the translations, which the test's process may change."""
    assert made[0]["outcomes"]
    return shutil.copytree(folder, tmp_path / "translations")


CALL = "openai/gpt-4o system the usual"


@pytest.mark.parametrize(
    ("changes", "reason"),
    [
        ({"OPENAI_ORGANIZATION": "org-1"}, "the environment has changed (OPENAI_ORGANIZATION)"),
        ({"SSL_SECURITY_LEVEL": "DEFAULT"}, "the environment has changed (SSL_SECURITY_LEVEL)"),
        ({"LITELLM_LOCAL_MODEL_COST_MAP": "False"}, "(LITELLM_LOCAL_MODEL_COST_MAP)"),
    ],
)
def test_another_environment(
    server: OpenAIServer, copy: Path, changes: dict[str, str], reason: str
) -> None:
    ours, _, messages = run("use", copy, server, CALL, **changes)
    assert reason in messages
    assert ours["kept"] == []
    assert ours["importing"] == [CALL]


def test_another_key_needs_no_other_translation(server: OpenAIServer, copy: Path) -> None:
    ours, requests, _ = run("use", copy, server, CALL, OPENAI_API_KEY="sk-another-key")
    assert ours["kept"] == [CALL]
    assert requests[0].headers["Authorization"] == "Bearer sk-another-key"


# Files.


def translation() -> Translation:
    wire = KeptWire(
        "openai",
        "http://127.0.0.1:9/v1/chat/completions",
        {"Authorization": Pieces(("Bearer ", ("env", "OPENAI_API_KEY"), ""))},
        True,
        True,
        {shape(REQUEST.messages): Pieces(('{"content":"', ("part", "0"), '"}'))},
    )
    prices = {"x": PriceFormula(1e-6, 2e-6, None, 1000)}
    return Translation({kept.params_digest(REQUEST.params): wire}, prices, frozenset({"HOME"}))


def test_a_file_is_read_as_it_was_written(tmp_path: Path) -> None:
    assert kept.read(tmp_path, MODEL) is None
    kept.write(tmp_path, MODEL, translation())
    assert kept.read(tmp_path, MODEL) == translation()
    assert kept.read(tmp_path, replace(MODEL, timeout=31.0)) is None
    kept.discard(tmp_path, MODEL)
    assert kept.read(tmp_path, MODEL) is None


def changed(content: dict[str, Any], name: str, value: object) -> bytes:
    """Return a file with another value and a digest that fits it."""
    rest = {**content, name: value}
    del rest["digest"]
    return json.dumps({**rest, "digest": kept._digest(rest)}).encode()


Damage = Callable[[dict[str, Any]], bytes]

DAMAGES: dict[str, tuple[Damage, str]] = {
    "empty": (lambda _: b"", "damaged"),
    "nested deeply": (lambda _: b"[" * 100_000, "damaged"),
    "no UTF-8": (lambda content: b"\xff" + json.dumps(content).encode(), "damaged"),
    "tampered": (lambda content: json.dumps({**content, "wires": {}}).encode(), "damaged"),
    "long": (lambda _: b" " * (kept.MOST_BYTES + 1), "too long"),
    "format": (lambda content: changed(content, "format", 2), "format"),
    "model": (lambda content: changed(content, "model", "x"), "format"),
    "packages": (lambda content: changed(content, "installed", {}), "packages"),
    "variables of .env": (lambda content: changed(content, "dotenv", "1"), ".env"),
    "wires": (lambda content: changed(content, "wires", {"a": {}}), "damaged"),
    "prices": (lambda content: changed(content, "prices", [1]), "damaged"),
}


@pytest.mark.parametrize("name", DAMAGES)
def test_a_file_that_is_not_used(tmp_path: Path, name: str) -> None:
    damage, reason = DAMAGES[name]
    kept.write(tmp_path, MODEL, translation())
    path = kept.path_of(tmp_path, MODEL)
    path.write_bytes(damage(json.loads(path.read_bytes())))
    with pytest.raises(kept.UnusableTranslation, match=reason):
        kept.read(tmp_path, MODEL)


@pytest.mark.parametrize(
    ("url", "changes", "is_used"),
    [
        ("https://api.openai.com/v1/chat/completions", {}, True),
        ("https://api.openai.com.example/v1/chat/completions", {}, False),
        ("http://api.openai.com/v1/chat/completions", {}, False),
        ("http://127.0.0.1:9/v1/chat/completions", {}, False),
        ("http://127.0.0.1:9/v1/chat/completions", {"OPENAI_API_BASE": MODEL.api_base}, True),
    ],
    ids=["the provider's", "another host", "another scheme", "unnamed", "named by a variable"],
)
def test_a_file_does_not_choose_the_server(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    url: str,
    changes: dict[str, str],
    *,
    is_used: bool,
) -> None:
    for name in ("OPENAI_API_BASE", "OPENAI_BASE_URL"):
        monkeypatch.delenv(name, raising=False)
    for name, value in changes.items():
        monkeypatch.setenv(name, value)
    model = replace(MODEL, api_base=None)
    own = translation()
    wires = {key: replace(wire, url=url) for key, wire in own.wires.items()}
    kept.write(tmp_path, model, replace(own, wires=wires))
    if is_used:
        assert kept.read(tmp_path, model) is not None
    else:
        with pytest.raises(kept.UnusableTranslation, match="not the provider's"):
            kept.read(tmp_path, model)


@pytest.mark.parametrize(
    "address",
    [
        pytest.param("http://127.0.0.1/v1?key=abc", id="query"),
        pytest.param("http://me:abc@127.0.0.1/v1", id="password"),
    ],
)
def test_an_address_with_credentials_is_not_kept(
    tmp_path: Path, loop_thread: LoopThread, monkeypatch: pytest.MonkeyPatch, address: str
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    model = replace(MODEL, api_base=address)
    direct = DirectModel(model, connections=1, tell=lambda _: None)
    loop_thread.run(TranslatedModel(model, direct, tmp_path, print).prepare([REQUEST]))
    assert list(tmp_path.iterdir()) == []


WRITE = """
import sys
from pathlib import Path
from pytest_tablebench.models.translation import kept
from tests.models.test_translation import MODEL, translation
for _ in range(200):
    kept.write(Path(sys.argv[1]), MODEL, translation())
"""


def test_two_runs_that_write_at_once_leave_a_whole_file(tmp_path: Path) -> None:
    kept.write(tmp_path, MODEL, translation())
    writers = [
        subprocess.Popen([sys.executable, "-c", WRITE, str(tmp_path)], env=environment())
        for _ in range(2)
    ]
    reads = 0
    while any(writer.poll() is None for writer in writers):
        assert kept.read(tmp_path, MODEL) == translation()
        reads += 1
    assert [writer.returncode for writer in writers] == [0, 0]
    assert reads
    assert [path.name for path in tmp_path.iterdir()] == [kept.path_of(tmp_path, MODEL).name]


def test_a_folder_that_cannot_be_written_is_no_error(
    tmp_path: Path, loop_thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)
    (tmp_path / "file").write_text("")
    direct = DirectModel(MODEL, connections=1, tell=print)
    model = TranslatedModel(MODEL, direct, tmp_path / "file" / "translations", print)
    assert loop_thread.run(model.prepare([REQUEST])) == 1
    assert (tmp_path / "file").read_text() == ""


# Requests.

TEXTS = st.text(st.characters(exclude_categories=["Cs"]), min_size=1)


@given(st.lists(TEXTS, min_size=1, max_size=4), st.booleans())
def test_filled_pieces_are_the_encoded_texts(texts: list[str], compact: bool) -> None:
    messages = tuple(Message("user", text) for text in texts)
    encode = encoder(compact=compact).encode
    probes, slots = probe(messages)
    body = Pieces.of(encode([message.content for message in probes]), slots)
    wire = KeptWire("openai", "", {}, compact, True, {shape(messages): body})
    filled = filled_body(wire, texts_by_slot(messages), shape(messages))
    assert filled == encode(texts).encode()
    assert Pieces.read(json.loads(json.dumps(body.to_json()))) == body


def test_shapes_tell_contents_apart_that_a_provider_may_treat_differently() -> None:
    contents: list[Content] = ["a", "", " a", ("a",), ("a", "b")]
    assert len({shape([Message("user", content)]) for content in contents}) == len(contents)
    assert shape([Message("user", "a")]) == shape([Message("user", "b c")])
    assert shape([Message("user", "a")]) != shape([Message("system", "a")])


# Prices.


def linear(usage: Mapping[str, Any]) -> float:
    cached = (usage.get("prompt_tokens_details") or {}).get("cached_tokens", 0)
    prompt = (usage["prompt_tokens"] - cached) * 2.5e-6 + (cached * 1.25e-6 if cached else 0)
    return float(prompt + usage["completion_tokens"] * 1e-5)


TABLE = {
    "input_cost_per_token": 2.5e-6,
    "output_cost_per_token": 1e-5,
    "cache_read_input_token_cost": 1.25e-6,
}
USAGE = {"prompt_tokens": 1234, "completion_tokens": 17, "total_tokens": 1251}


def test_a_formula_is_fitted_to_prices() -> None:
    formula = fit(linear, TABLE)
    assert formula == PriceFormula(2.5e-6, 1e-5, 1.25e-6, 1_048_577)
    assert formula.cost(USAGE) == pytest.approx(1234 * 2.5e-6 + 17 * 1e-5, rel=1e-15)
    cached = {**USAGE, "prompt_tokens_details": {"cached_tokens": 1000}}
    assert formula.cost(cached) == pytest.approx(234 * 2.5e-6 + 1000 * 1.25e-6 + 17e-5, rel=1e-15)


def test_a_formula_ends_where_long_prompts_cost_more() -> None:
    formula = fit(lambda usage: linear(usage) * (1 + (usage["prompt_tokens"] > 200_000)), TABLE)
    assert formula is not None
    assert formula.most == 199_999
    assert formula.covers(USAGE)
    assert not formula.covers({**USAGE, "prompt_tokens": 200_001})


def test_prices_without_a_formula() -> None:
    assert fit(lambda usage: None, TABLE) == PriceFormula(None)
    assert fit(lambda usage: linear(usage) + 1e-9, TABLE) is None
    assert fit(linear, {}) is None
    assert fit(linear, {**TABLE, "off_peak_pricing": {}}) is None


@pytest.mark.parametrize(
    "usage",
    [
        {**USAGE, "prompt_tokens_details": {"audio_tokens": 1}},
        {**USAGE, "completion_tokens_details": {"audio_tokens": 1}},
        {**USAGE, "prompt_cache_hit_tokens": 5},
        {**USAGE, "completion_tokens": 0},
        {**USAGE, "completion_tokens_details": {"reasoning_tokens": 18}},
        {**USAGE, "prompt_tokens_details": {"cached_tokens": 2000}},
        {},
    ],
)
def test_a_usage_that_litellm_has_to_price(usage: dict[str, Any]) -> None:
    assert not PriceFormula(2.5e-6, 1e-5, 1.25e-6, 1_048_577).covers(usage)


# The environment and TLS.


def test_the_environment_is_recorded(monkeypatch: pytest.MonkeyPatch) -> None:
    recorded = record()
    assert isinstance(recorded, RecordedEnvironment)
    monkeypatch.setenv("TABLEBENCH_TEST_NAME", "1")
    assert recorded.original("TABLEBENCH_TEST_NAME") is None
    recorded.names.clear()
    assert dict(os.environ.items())["TABLEBENCH_TEST_NAME"] == "1"
    assert recorded.names == set()
    assert os.environ.get("TABLEBENCH_TEST_NAME") == "1"
    assert "TABLEBENCH_TEST_MISSING" not in os.environ
    assert {"TABLEBENCH_TEST_NAME", "TABLEBENCH_TEST_MISSING"} <= recorded.names


def test_an_ssl_context_is_made_again() -> None:
    from litellm.llms.custom_httpx.http_handler import get_ssl_configuration

    fields = described(get_ssl_configuration())
    assert fields["verify"][:2] == [int(ssl.CERT_REQUIRED), True]
    assert described(rebuilt(json.loads(json.dumps(fields)))) == fields
    assert described(ssl.SSLContext(ssl.PROTOCOL_TLS_CLIENT)) is None
    with pytest.raises(ValueError, match="certificates"):
        rebuilt({**fields, "certificates": "0"})


# The check during a run.


def test_a_request_is_compared_with_litellms(
    loop_thread: LoopThread, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", KEY)

    async def translated() -> tuple[Wire, bytes]:
        call = DirectModel(MODEL, connections=1, tell=print).translated(REQUEST)
        assert call is not None
        return call

    wire, body = loop_thread.run(translated())
    same = SentRequest(MODEL, REQUEST, wire.url, wire.headers, body)
    other = replace(same, headers={}, body=body.replace(b"old", b"young"))
    assert loop_thread.run(differences(same)) == []
    assert loop_thread.run(differences(other)) == ["headers", "body"]
