"""A process that makes model calls: `python -m pytest_tablebench.executors.local.caller`.

Only callers import litellm. They also call registered providers. A caller makes the calls that the
broker sends, writes each answer to the store at once, and then reports it to the broker. When the
broker is gone or has no more work, the caller finishes and stores its calls in flight, because they
are paid for, and ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from collections.abc import Coroutine, Mapping, Sequence
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

from pytest_tablebench.config.parameters import REPLY_LIMITS, WINDOW, is_ollama
from pytest_tablebench.errors import ModelError, StoreError
from pytest_tablebench.executors._wire import (
    PROBLEMS,
    REFUSALS,
    LineSplitter,
    error_fields,
    header,
    not_stored,
    pack,
    read_request,
    reply_fields,
)
from pytest_tablebench.executors.local._caller_processes import LITELLM
from pytest_tablebench.executors.local.providers import CalledProvider
from pytest_tablebench.models.base import Reply, Request
from pytest_tablebench.models.litellm_facts import facts_entry, resolve, tokens_of
from pytest_tablebench.models.litellm_load import load
from pytest_tablebench.models.litellm_model import LiteLLMModel, close
from pytest_tablebench.models.ollama import ContextWindow
from pytest_tablebench.models.openai_wire import WireModel, warm_up
from pytest_tablebench.store import Store

APART_S = 0.004
"""Seconds between the starts of two calls: litellm needs about that long to send one."""


CalledModel = LiteLLMModel | WireModel | CalledProvider


@cache
def _window(model: str, api_base: str | None) -> ContextWindow | None:
    return ContextWindow(model, api_base) if is_ollama(model) else None


async def _with_room(model: CalledModel, request: Request) -> Reply:
    """Answer a request; if its reply may be too long for the model, with the room that is left.

    The limit of a reply is an upper bound, so the answer belongs to the request as it is.
    """
    try:
        return await model.acomplete(request)
    except ModelError as error:
        limits = {name: error.room for name in REPLY_LIMITS if name in request.params}
        if error.room is None or not limits:
            raise
        return await model.acomplete(replace(request, params={**request.params, **limits}))


class Caller(asyncio.Protocol):
    """The connection to the broker, and the calls in flight."""

    def __init__(self, config: Mapping[str, Any]) -> None:
        self.done = asyncio.Event()
        self._config = config
        self._lines = LineSplitter()
        self._transport: asyncio.Transport | None = None
        store = config["store"]  # None: the process that receives an answer stores it
        self._store = Store.open(Path(store)) if store is not None else None
        self._models = [self._model(lane) for lane in config["lanes"]]
        self._servers: dict[int, Sequence[str]] = {}
        """Address and key of the servers that the run has started, by lane."""
        self._tasks: set[asyncio.Task[None]] = set()
        self._queued: asyncio.Queue[tuple[int, int, bytes]] = asyncio.Queue()
        self._unstored: list[tuple[Request, Reply]] = []
        # The processes that run cases have found the first warnings themselves.
        self._sent_warnings = len(self._store.warnings) if self._store is not None else 0
        self._closing = False

    def _model(self, lane: Mapping[str, Any]) -> CalledModel:
        limits = {name: self._config[name] for name in ("timeout", "max_reply")}
        if lane.get("reference") is not None:
            settings = self._config["settings"]
            return CalledProvider(lane["model"], lane["reference"], settings, **limits)
        model = LiteLLMModel(
            model=lane.get("asked_as") or lane["model"],
            api_base=lane["api_base"],
            api_key=lane.get("api_key"),
            window=_window(lane.get("asked_as") or lane["model"], lane["api_base"]),
            **limits,
        )
        if self._config["transport"] == "litellm":
            return model

        def tell(why: str) -> None:
            self._note(f"{PROBLEMS} transport of {lane['model']}", [why])

        return WireModel(
            model,
            connections=self._config["connections"],
            tell=tell,
            insist=self._config["transport"] == "direct",
        )

    def connection_made(self, transport: asyncio.BaseTransport) -> None:
        """Introduce this process to the broker."""
        assert isinstance(transport, asyncio.Transport)  # noqa: S101 - TCP
        self._transport = transport
        self._send({"token": self._config["token"], "role": "caller", "pid": os.getpid()})

    async def begin(self) -> None:
        """Prepare the models, and report to the broker whether calls can be made."""
        try:
            models = [model for model in self._models if not isinstance(model, CalledProvider)]
            for model in models:
                await model.warm_up()
        except ModelError as error:
            self._send({"broken": error_fields(error)})
        else:
            self._send({"ready": True})

    def data_received(self, data: bytes) -> None:
        """Handle messages of the broker."""
        for line in self._lines.feed(data):
            head, body = header(line)
            do = head["do"]
            if do == "call":
                self._find_server(head["lane"], head.get("server"))
                self._queued.put_nowait((head["n"], head["lane"], body))
            elif do == "close":
                self._close()
            else:
                answer = asyncio.to_thread(self._look_up, do, json.loads(body))
                self._start(head["n"], answer, "the facts about a model")

    def _find_server(self, lane: int, server: Sequence[str] | None) -> None:
        if server is not None and self._servers.get(lane) != server:
            self._servers[lane] = server
            address = {"api_base": server[0], "api_key": server[1]}
            self._models[lane] = self._model({**self._config["lanes"][lane], **address})

    async def start_calls(self) -> None:
        """Start the broker's calls, each a little after the one before.

        Calls that start together wait together, first for the processor and then for the server,
        and so do the calls that follow them. Direct calls take too little time for that.
        """
        while True:
            number, lane, body = await self._queued.get()
            model = self._models[lane]
            self._start(number, self._call(model, body), "the call broke off")
            is_direct = isinstance(model, WireModel) and model.direct
            await asyncio.sleep(0 if is_direct else APART_S)

    def _start(self, number: int, work: Coroutine[Any, Any, dict[str, Any]], defect: str) -> None:
        """Start a task that reports the outcome of some work."""

        async def report() -> None:
            try:
                head = await work
            except ModelError as error:
                head = {"error": error_fields(error)}
            except Exception as error:  # a defect must not keep the run waiting for ever
                failure = ModelError(f"{defect}: {type(error).__name__}", reason="error")
                head = {"error": error_fields(failure)}
            self._send({"n": number, **head})

        task = asyncio.create_task(report())
        self._tasks.add(task)
        task.add_done_callback(self._ended)

    def _look_up(self, name: str, question: Mapping[str, Any]) -> dict[str, Any]:
        """Answer a question in a thread, because it may import litellm: calls continue."""
        if name == "facts":
            resolved = resolve(question["model"], question["api_base"], question["params"])
            window = _window(question["model"], question["api_base"])
            if window is not None and WINDOW not in resolved.sent:
                limit = window.limit()
                named = limit or "as long as prompts need"
                resolved = replace(
                    resolved, sent={**resolved.sent, WINDOW: named}, max_input_tokens=limit
                )
                if limit is None:  # another run may reach the server
                    return {"result": resolved.to_json()}
            facts = resolved.to_json()
            # Stored only to save time: the next run need not wait for litellm to compute its keys.
            if self._store is not None:
                with contextlib.suppress(StoreError):
                    self._store.put_resolution(facts_entry(question, facts))
            return {"result": facts}
        prompts = ([{"role": "user", "content": text}] for text in question["texts"])
        return {"result": [tokens_of(question["model"], prompt) for prompt in prompts]}

    async def _call(self, model: CalledModel, body: bytes) -> dict[str, Any]:
        request = read_request(body)
        try:
            reply = await _with_room(model, request)
        except ModelError as error:
            if error.refused is not None:
                name = f"{REFUSALS} {request.model} {error.refused}"
                self._note(name, [request.model, error.refused, str(error)])
            raise
        head: dict[str, Any] = {"reply": reply_fields(reply)}
        if self._store is None:
            return head
        try:
            self._store.put(request, reply)
        except StoreError as error:
            head |= not_stored(error, request)
            if error.whole_run:
                self._unstored.append((request, reply))
        if len(self._store.warnings) > self._sent_warnings:
            self._sent_warnings = len(self._store.warnings)
            self._note(f"{PROBLEMS} {os.getpid()}", self._store.warnings)
        return head

    def _ended(self, task: asyncio.Task[None]) -> None:
        self._tasks.discard(task)
        if self._closing and not self._tasks:
            self._end()

    def _close(self) -> None:
        self._closing = True
        while not self._queued.empty():
            self._queued.get_nowait()  # not sent yet, so not paid for
        if not self._tasks:
            self._end()

    def _end(self) -> None:
        # Try once more: the disk may have room again.
        with contextlib.suppress(StoreError):
            for request, reply in self._unstored:
                assert self._store is not None  # noqa: S101 - it has refused them
                self._store.put(request, reply)
        self._unstored.clear()
        self.done.set()

    def connection_lost(self, exc: Exception | None) -> None:  # noqa: ARG002 - asyncio's signature
        """Finish the calls in flight and end, because the broker is gone."""
        self._close()

    def _note(self, name: str, texts: Sequence[str]) -> None:
        self._send({"note": name, "texts": texts})

    def _send(self, head: Mapping[str, Any]) -> None:
        if self._transport is not None and not self._transport.is_closing():
            self._transport.write(pack(head))


async def _serve(config: Mapping[str, Any]) -> None:
    caller = Caller(config)
    await asyncio.get_running_loop().create_connection(lambda: caller, "127.0.0.1", config["port"])
    await caller.begin()
    starting = asyncio.create_task(caller.start_calls())
    await caller.done.wait()
    starting.cancel()
    await close()


def main() -> int:
    """Serve the broker that started this process."""
    if LITELLM in sys.argv[1:]:  # while the broker still starts
        with contextlib.suppress(ModelError):
            load()
    else:
        warm_up()
    line = sys.stdin.readline()
    if line:
        asyncio.run(_serve(json.loads(line)))
    return 0


if __name__ == "__main__":
    sys.exit(main())
