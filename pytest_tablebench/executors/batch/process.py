"""The process that talks to batch services, so that nothing waits for them.

It reads one order from its standard input, executes it, and writes the problems to its standard
output, both as JSON. It writes each step to the ledger before the next one. If it is killed, the
next process continues from there.
"""

from __future__ import annotations

import json
import secrets
import sys
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ModelError, TableBenchError
from pytest_tablebench.executors._wire import error_fields
from pytest_tablebench.executors.batch._ledger import Batch, Ledger, Waiting, written_base
from pytest_tablebench.models.base import Reply
from pytest_tablebench.models.batch_service import ENDPOINT, BatchService, BatchState
from pytest_tablebench.store import Store

MOST_REQUESTS, MOST_BYTES = 50_000, 100_000_000
"""Limits of one batch; OpenAI accepts 50,000 requests and 200 MB."""

REFUSED = frozenset({"auth", "bad_request", "not_found", "rate_limit"})
"""Reasons that exclude that the provider has created the batch."""


class BatchProcess:
    """Collects and submits the batches of one ledger.

    Arguments:
        store: the folder of the answers.
        lanes: name and address of each model.
        timeout: seconds that one call to a service may take.
        max_reply: bytes of UTF-8 that an answer keeps.
        max_cost: US dollars that all batches of the ledger may cost; None: no limit.
    """

    def __init__(
        self,
        store: str,
        lanes: Sequence[tuple[str, str | None]],
        timeout: float,
        max_reply: int,
        max_cost: float | None = None,
    ) -> None:
        self.store, self.max_cost = Path(store), max_cost
        self.ledger = Ledger(self.store)
        self.services = {
            (model, written_base(base)): BatchService(model, base, timeout, max_reply)
            for model, base in lanes
        }

    def collect(self) -> None:
        """Store the answers of batches that are over. Raises `ModelError` if a service fails."""
        for batch in self.ledger.batches():
            service = self.services.get((batch.model, batch.api_base))
            if service is None or batch.state == "read":
                continue  # a batch of another run, or read already
            handed_in = batch
            if batch.state == "prepared":
                state = service.find(batch.name)
                if state is None:  # it never reached the provider
                    self.ledger.drop(batch)
                    continue
                handed_in = self._handed_in(batch, state)
            state = service.look(str(handed_in.batch_id))
            if state.over:
                self._read(handed_in, state, service)
            elif state.status != handed_in.status:
                self.ledger.save(replace(handed_in, status=state.status))

    def _handed_in(self, batch: Batch, state: BatchState) -> Batch:
        handed_in = replace(batch, state="handed_in", batch_id=state.batch_id, status=state.status)
        self.ledger.save(handed_in)
        return handed_in

    def _read(self, batch: Batch, state: BatchState, service: BatchService) -> None:
        left = self.ledger.requests(batch)
        failed: dict[str, dict[str, Any]] = {}
        paid = batch
        with Store.open(self.store) as store:
            for key, outcome in self._outcomes(state, service):
                request = left.pop(key, None)
                if request is None:
                    continue  # not a request of this batch, or a second answer to one
                if isinstance(outcome, ModelError):
                    failed |= _failed(outcome, [request])
                    continue
                store.put_described(key, request.facts, outcome)
                paid = _paid(paid, outcome)
        failed |= _failed(_unanswered(batch.model, state), left.values())
        self.ledger.save(replace(paid, state="read", status=state.status, failed=failed))

    def _outcomes(
        self, state: BatchState, service: BatchService
    ) -> Iterator[tuple[str, Reply | ModelError]]:
        for file in state.output_files:
            for line in service.lines(file):
                try:
                    fields = json.loads(line)
                    key = fields["custom_id"]
                except (ValueError, LookupError, TypeError, RecursionError):
                    continue  # a line without a key counts as a missing answer
                if isinstance(key, str):
                    yield key, _outcome(fields, service)

    def hand_in(self) -> list[ModelError]:
        """Submit the collected requests; return the first error of each model."""
        problems = []
        for service in self.services.values():
            try:
                self._hand_in_all(service)
            except ModelError as error:
                problems.append(error)
        return problems

    def _hand_in_all(self, service: BatchService) -> None:
        most = self.max_cost
        spent = sum(batch.committed for batch in self.ledger.batches())
        lines: list[bytes] = []
        waiting: list[Waiting] = []
        refused: list[Waiting] = []
        size, cost = 0, 0.0
        for fields in self.ledger.collected_requests():
            if fields["model"] != service.model:
                continue
            request = Waiting(fields["key"], fields["facts"], fields["attempt"])
            price = 0.0
            if most is not None:
                price = service.price_at_most(fields["messages"], fields["params"]) or 0.0
                if spent + price > most:
                    refused.append(request)
                    continue
                spent += price
            line = _request_line(request.key, service.body(fields["messages"], fields["params"]))
            if lines and (len(lines) == MOST_REQUESTS or size + len(line) > MOST_BYTES):
                self._send(service, lines, waiting, cost)
                lines, waiting, size, cost = [], [], 0, 0.0
            lines.append(line)
            waiting.append(request)
            size += len(line)
            cost += price
        if lines:
            self._send(service, lines, waiting, cost)
        if refused:  # they have no answer in this run
            text = f"{service.model}: the budget of {most:g} USD does not cover it"
            failed = {
                key: {**fields, "limit": most}
                for key, fields in _failed(ModelError(text, reason="budget"), refused).items()
            }
            self.ledger.add(replace(_new(service, refused), state="read", failed=failed), refused)

    def _send(
        self,
        service: BatchService,
        lines: Sequence[bytes],
        waiting: Sequence[Waiting],
        cost_at_most: float,
    ) -> None:
        batch = replace(_new(service, waiting), cost_at_most=cost_at_most)
        file_id = service.upload(b"".join(lines), f"{batch.name}.jsonl")
        self.ledger.add(batch, waiting)  # before the provider may have it
        try:
            state = service.create(file_id, batch.name)
        except ModelError as error:
            if error.reason in REFUSED:
                self.ledger.drop(batch)
            raise
        self._handed_in(batch, state)


def _new(service: BatchService, requests: Sequence[Waiting]) -> Batch:
    name, made = secrets.token_hex(12), datetime.now(UTC).isoformat(timespec="seconds")
    return Batch(name, service.model, written_base(service.api_base), len(requests), made=made)


def _failed(error: ModelError, requests: Iterable[Waiting]) -> dict[str, dict[str, Any]]:
    return {
        request.key: {**error_fields(error), "attempt": request.attempt} for request in requests
    }


def _request_line(key: str, body: bytes) -> bytes:
    head = json.dumps({"custom_id": key, "method": "POST", "url": ENDPOINT})
    return head[:-1].encode("ascii") + b', "body": ' + body + b"}\n"


def _paid(batch: Batch, reply: Reply) -> Batch:
    cost = None
    if batch.cost_usd is not None and reply.cost_usd is not None:
        cost = batch.cost_usd + reply.cost_usd
    return replace(
        batch,
        calls=batch.calls + 1,
        prompt_tokens=batch.prompt_tokens + (reply.prompt_tokens or 0),
        completion_tokens=batch.completion_tokens + (reply.completion_tokens or 0),
        cost_usd=cost,
    )


def _outcome(fields: Mapping[str, Any], service: BatchService) -> Reply | ModelError:
    """Parse a line of an output file, whatever it contains (docs/engine.md)."""
    response, error = fields.get("response"), fields.get("error")
    status = response.get("status_code") if isinstance(response, dict) else None
    body = response.get("body") if isinstance(response, dict) else None
    if status == 200 and isinstance(body, dict):
        try:
            return service.reply(body)
        except ModelError as problem:
            return problem
    details = error if isinstance(error, dict) else {}
    if isinstance(body, dict) and isinstance(body.get("error"), dict):
        details = body["error"]
    code, text = str(details.get("code")), str(details.get("message") or "")
    if code == "batch_expired":
        return _expired(service.model)
    return service.failures.of_status(status if isinstance(status, int) else None, code, text)


def _expired(model: str) -> ModelError:
    return ModelError(f"{model}: its batch expired first", reason="expired", retryable=True)


def _unanswered(model: str, state: BatchState) -> ModelError:
    """Return why a request of a batch that is over has no line in its files."""
    if state.status == "failed":
        why = state.failure or "the provider does not say why"
        return ModelError(f"{model}: its batch was refused: {why}", reason="bad_request")
    if state.status == "cancelled":
        return ModelError(f"{model}: its batch was cancelled", reason="cancelled")
    if state.status == "expired":
        return _expired(model)
    return ModelError(
        f"{model}: its batch ended without a result", reason="bad_reply", retryable=True
    )


def main() -> int:
    """Execute one order: `collect` the answers, or `hand_in` the collected requests."""
    order = json.loads(sys.stdin.read())
    do = order.pop("do")
    batches = BatchProcess(**order)
    problems: list[TableBenchError] = []
    try:
        if do == "collect":
            batches.collect()
        else:
            problems += batches.hand_in()
    except TableBenchError as error:
        problems.append(error)
    print(json.dumps({"problems": [str(error) for error in problems]}))  # noqa: T201 - its answer
    return 0


if __name__ == "__main__":
    sys.exit(main())
