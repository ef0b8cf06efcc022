"""litellm in separate processes."""

from __future__ import annotations

import json
import signal
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.calls import GENEROUS_S, QUIETLY
from tests.support.openai_server import Behaviour, OpenAIServer, error, hang, nonsense, text

pytestmark = [pytest.mark.usefixtures("api_key"), QUIETLY]

QUIET = """
import asyncio, json, logging, sys
reached = set()
def watch(event, args):
    if event == "socket.connect":
        reached.add(args[1][0])
    elif event == "socket.getaddrinfo":
        reached.add(args[0])
sys.addaudithook(watch)
from pytest_tablebench.errors import ModelError
from pytest_tablebench.models import Message, Request, make_provider

async def main():
    reasons = []
    # Makes litellm read its list of such headers.
    params = {"anthropic/claude": {"extra_headers": {"anthropic-beta": "context-1m-2025-08-07"}}}
    for name in ("openai/test-model", "hosted_vllm/test", "no-such-thing", "anthropic/claude"):
        provider = make_provider(name, api_base=sys.argv[1], timeout=30)
        await provider.warm_up()
        for _ in range(2):
            request = Request(name, (Message("user", "hi"),), params.get(name, {}))
            try:
                await provider.acomplete(request)
            except ModelError as error:
                reasons.append(error.reason)
            else:
                reasons.append("answer")
    logging.getLogger("LiteLLM").error("a line of litellm's log")
    print(json.dumps([reasons, sorted(reached)]))

asyncio.run(main())
"""


def test_a_new_process_prints_nothing_and_connects_only_to_the_server(
    openai_server: OpenAIServer,
    run_python: Callable[..., subprocess.CompletedProcess[str]],
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("ANTHROPIC_API_KEY", "sk-ant-0123456789")
    openai_server.queue(error(401), text("26"), nonsense(), text("26"))
    done = run_python(QUIET, openai_server.url)
    assert done.stderr == ""
    reasons, reached = json.loads(done.stdout)
    assert reasons == (
        ["auth", "answer", "bad_reply", "answer"] + ["unknown_model"] * 2 + ["not_found"] * 2
    )
    assert reached == ["127.0.0.1"]


INTERRUPTED = """
import asyncio, sys
from pytest_tablebench.models import LiteLLMModel, Message, Request
model = LiteLLMModel("openai/test-model", sys.argv[1], 60)
try:
    asyncio.run(model.acomplete(Request("test", (Message("user", "hi"),))))
except KeyboardInterrupt:
    print("interrupted")
"""


@pytest.mark.skipif(sys.platform == "win32", reason="POSIX signals")
def test_ctrl_c_ends_the_process_at_once(openai_server: OpenAIServer) -> None:
    command = [sys.executable, "-c", INTERRUPTED, openai_server.url]
    pipe = subprocess.PIPE
    with subprocess.Popen(command, cwd=ROOT, stdout=pipe, stderr=pipe, text=True) as process:

        def decide(_: dict[str, Any]) -> Behaviour:
            process.send_signal(signal.SIGINT)
            return hang()

        openai_server.decide = decide
        try:
            output, errors = process.communicate(timeout=GENEROUS_S)  # the call itself has 60 s
        finally:
            process.kill()
    assert (output, errors, process.returncode) == ("interrupted\n", "", 0)


ROOT = Path(__file__).parents[2]
