"""Conversations with tools: a run against the ideal of its server.

    python -m benchmarks.tools [--cases 500] [--reply-s 0.3] [--connections 64]

Each case has three turns: a call of `query`, a call of `rows`, an answer. A server on loopback
answers each after the given time. The ideal is the time of all replies over the connections; the
share is the ideal over the time from the first request to the last answer. The goal is .80.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from aiohttp import web

CALLS = (
    ("query", {"sql": "SELECT max(price) FROM df"}),
    ("rows", {"table": "df", "start": 0, "count": 2}),
)


class Server:
    """Answers by the number of results that a request contains."""

    def __init__(self, reply_s: float) -> None:
        self._reply_s = reply_s
        self.times: list[float] = []

    async def answer(self, request: web.Request) -> web.Response:
        self.times.append(time.perf_counter())
        done = sum(turn["role"] == "tool" for turn in (await request.json())["messages"])
        await asyncio.sleep(self._reply_s)
        message: dict[str, object] = {"role": "assistant", "content": "9"}
        if done < len(CALLS):
            name, arguments = CALLS[done]
            function = {"name": name, "arguments": json.dumps(arguments)}
            calls = [{"id": f"call_{done}", "type": "function", "function": function}]
            message = {"role": "assistant", "content": None, "tool_calls": calls}
        reason = "tool_calls" if done < len(CALLS) else "stop"
        choice = {"index": 0, "message": message, "finish_reason": reason}
        usage = {"prompt_tokens": 300, "completion_tokens": 30, "total_tokens": 330}
        body = {"id": "1", "object": "chat.completion", "created": 1, "model": "test"}
        self.times.append(time.perf_counter())
        return web.json_response({**body, "choices": [choice], "usage": usage})


def dataset(folder: Path, cases: int) -> None:
    """Write a table and its questions."""
    folder.mkdir()
    rows = "".join(f"p{n},{n % 10}\n" for n in range(100))
    (folder / "prices.csv").write_text(f"product,price\n{rows}")
    lines = "".join(f"prices.csv,What is the highest price ({n})?,9\n" for n in range(cases))
    (folder / "questions.csv").write_text(f"table,question,answer\n{lines}")


async def measure(cases: int, reply_s: float, connections: int) -> float:
    """Return the share of the ideal that a run reaches."""
    server, app = Server(reply_s), web.Application()
    app.router.add_post("/v1/chat/completions", server.answer)
    runner = web.AppRunner(app)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    port = runner.addresses[0][1]
    with tempfile.TemporaryDirectory() as name:
        dataset(Path(name) / "shop", cases)
        options = [
            *("--bench-data=shop", "--bench-dataset=shop", "--bench-strategy=tools", "-q"),
            *("--bench-perturbation=none", f"--bench-connections={connections}"),
            *("--bench-store=store", "--bench-results=run", "--model=hosted_vllm/test"),
            f"--bench-api-base=http://127.0.0.1:{port}/v1",
        ]
        command = [sys.executable, "-m", "pytest", *options]
        process = await asyncio.create_subprocess_exec(
            *command, cwd=name, stdout=subprocess.PIPE, stderr=subprocess.STDOUT
        )
        output, _ = await process.communicate()
        if f"{cases:,} right" not in output.decode():
            raise SystemExit(output.decode()[-2000:])
    await runner.cleanup()
    took = server.times[-1] - server.times[0]
    return cases * 3 * reply_s / connections / took


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=500)
    parser.add_argument("--reply-s", type=float, default=0.3)
    parser.add_argument("--connections", type=int, default=64)
    given = parser.parse_args()
    share = asyncio.run(measure(given.cases, given.reply_s, given.connections))
    print(f"tools: {given.cases} cases of three turns: {share:.2f} of the ideal (goal .80)")
