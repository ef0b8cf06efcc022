"""CPU of one call with each transport, and with a bare client, in one process each.

    python -m benchmarks.transports [--calls 3000] [--connections 64] [--characters 600]

The server is another process that answers at once. The output is the CPU of the calling process,
without imports and first calls: it makes requests and reads replies, and stores nothing.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable

from benchmarks.litellm_floor import ENVIRONMENT
from benchmarks.load_server import running

MODELS = ("openai/test-model", "hosted_vllm/test-model", "openai/gpt-4o")
KINDS = ("bare aiohttp", "direct", "litellm")


async def _bare(url: str) -> Callable[[str], Awaitable[object]]:
    import aiohttp

    session = aiohttp.ClientSession(connector=aiohttp.TCPConnector(limit=0))

    async def ask(text: str) -> object:
        body = {"model": "m", "messages": [{"role": "user", "content": text}]}
        async with session.post(f"{url}/chat/completions", json=body) as reply:
            return await reply.json()

    return ask


async def _ours(kind: str, model: str, url: str) -> Callable[[str], Awaitable[object]]:
    from pytest_tablebench.models import LiteLLMModel, Message, Request
    from pytest_tablebench.models.openai_wire import WireModel

    by_litellm = LiteLLMModel(model, url, 120)
    asked: LiteLLMModel | WireModel = by_litellm
    if kind == "direct":
        asked = WireModel(by_litellm, connections=1000, tell=sys.exit, insist=True)
    await asked.warm_up()
    params = {"temperature": 0, "max_tokens": 512}

    async def ask(text: str) -> object:
        return await asked.acomplete(Request(model, (Message("user", text),), params))

    return ask


async def _measure(
    kind: str, model: str, url: str, *, calls: int, connections: int, text: str
) -> None:
    ask = await (_bare(url) if kind == KINDS[0] else _ours(kind, model, url))
    started, cpu = time.perf_counter(), time.process_time()
    await ask(text)
    first = time.process_time() - cpu, time.perf_counter() - started
    numbers = iter(range(calls))

    async def client() -> None:
        for number in numbers:
            await ask(f"question {number}: {text}")

    started, cpu = time.perf_counter(), time.process_time()
    await asyncio.gather(*(client() for _ in range(connections)))
    used, wall = time.process_time() - cpu, time.perf_counter() - started
    print(json.dumps({"first": first, "cpu_ms": used / calls * 1000, "wall_s": wall}))
    sys.stdout.flush()
    os._exit(0)  # skip litellm's clean-up


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--calls", type=int, default=3000)
    parser.add_argument("--connections", type=int, default=64)
    parser.add_argument("--characters", type=int, default=600)
    parser.add_argument("--child", nargs=3, help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child is not None:
        os.environ.update(ENVIRONMENT)
        kind, model, url = given.child
        text = "team 7 won 35 games. " * (given.characters // 21)
        calls, connections = given.calls, given.connections
        asyncio.run(_measure(kind, model, url, calls=calls, connections=connections, text=text))
    own = [f"--{name}={vars(given)[name]}" for name in ("calls", "connections", "characters")]
    own = [sys.executable, "-m", "benchmarks.transports", *own]
    for kind in KINDS:
        for model in MODELS if kind != KINDS[0] else ("",):
            with running(wait=0.0, reply="entailed") as server:
                command = [*own, "--child", kind, model, server.url]
                said = json.loads(subprocess.run(command, capture_output=True, check=True).stdout)
            rate = given.calls / said["wall_s"]
            cpu, first = said["cpu_ms"], said["first"][0]
            print(f"{kind:14}{model:24}{cpu:8.2f} ms a call, {rate:6.0f}/s, first {first:.3f} s")


if __name__ == "__main__":
    main()
