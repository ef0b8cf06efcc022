"""The executor of cases in batches, and the process that collects and submits them."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Collection, Mapping, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import IO, TYPE_CHECKING, Any

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.executors._protocol import Executor, Outcome, Work
from pytest_tablebench.executors.batch._ledger import Batch, Ledger, pending, written_base
from pytest_tablebench.models import Request
from pytest_tablebench.models.base import as_openai
from pytest_tablebench.store import describe
from pytest_tablebench.util.files import write_whole

if TYPE_CHECKING:
    from pytest_tablebench.config.settings import Settings

PROCESS = "pytest_tablebench.executors.batch.process"

FILE = "batches.json"
"""The file of a run folder that names the batches."""

SCHEMA = 1


class Batches:
    """The batches of one run; `lanes` are the names and addresses of models with a service."""

    def __init__(self, settings: Settings, lanes: Sequence[tuple[str, str | None]]) -> None:
        store = settings.store_folder()
        if store is None:
            raise SettingsError(
                "--bench-executor=batch needs a permanent store: leave out --bench-store=none"
            )
        self._settings = settings
        self._lanes = list(lanes)
        self._store = store
        self.ledger = Ledger(store)
        self.problems: list[str] = []
        """Errors of the submission of requests."""

    def collect(self) -> None:
        """Store all answers that are ready. Raises `SettingsError` if that fails."""
        self.ledger.hold()
        try:
            self.ledger.forget_requests()  # left by a session that was killed
            if self.under_way():
                problems = self._run_process("collect")
                if problems:
                    raise SettingsError(f"--bench-executor batch: {problems[0]}")
        except BaseException:
            self.ledger.release()
            raise

    def hand_in(self) -> None:
        """Submit the requests of the run's cases; `problems` then contains the errors."""
        try:
            if next(self.ledger.collected_requests(), None) is not None:
                self.problems = self._run_process("hand_in")
        finally:
            self.ledger.forget_requests()

    def close(self) -> None:
        """Let other runs submit batches."""
        self.ledger.forget_requests()
        self.ledger.release()

    def own(self) -> list[Batch]:
        """Return the batches of this run's models."""
        lanes = {(model, written_base(base)) for model, base in self._lanes}
        return [batch for batch in self.ledger.batches() if (batch.model, batch.api_base) in lanes]

    def under_way(self) -> list[Batch]:
        """Return the run's batches whose answers are not read yet."""
        return [batch for batch in self.own() if batch.state != "read"]

    def over_budget(self) -> int:
        """Return the number of requests that the budget refused and no later batch contains."""
        refused = {
            key
            for batch in self.own()
            for key, fields in batch.failed.items()
            if fields.get("reason") == "budget"
        }
        if refused:
            for batch in self.under_way():
                refused.difference_update(self.ledger.keys(batch))
        return len(refused)

    def end(self) -> None:
        """Remove the batches that are read: the run has their answers and errors."""
        for batch in self.own():
            if batch.state == "read":
                self.ledger.drop(batch)

    def totals(self) -> dict[str, dict[str, Any]]:
        """Return the calls, tokens and cost of answers, by model; a cost of None is unknown."""
        totals: dict[str, dict[str, Any]] = {}
        for batch in self.own():
            if not batch.calls:
                continue
            total = totals.setdefault(
                batch.model,
                {"calls_paid": 0, "prompt_tokens": 0, "completion_tokens": 0, "cost_usd": 0.0},
            )
            total["calls_paid"] += batch.calls
            total["prompt_tokens"] += batch.prompt_tokens
            total["completion_tokens"] += batch.completion_tokens
            is_known = total["cost_usd"] is not None and batch.cost_usd is not None
            total["cost_usd"] = total["cost_usd"] + batch.cost_usd if is_known else None
        return totals

    def write(self, folder: Path) -> None:
        """List the batches of all models of the run, including its judge, in a run folder."""
        rows = [
            {name: value for name, value in asdict(batch).items() if name != "failed"}
            | {"failed": len(batch.failed)}
            for batch in self.own()
        ]
        text = json.dumps({"schema": SCHEMA, "batches": rows}, indent=1)
        write_whole(folder / FILE, text + "\n")

    def _run_process(self, do: str) -> list[str]:
        settings = self._settings
        order = {
            "do": do,
            "store": str(self._store),
            "lanes": self._lanes,
            "timeout": settings.timeout,
            "max_reply": settings.max_reply,
            "max_cost": settings.max_cost,
        }
        done = subprocess.run(  # noqa: S603 - this interpreter
            [sys.executable, "-P", "-m", PROCESS],
            input=json.dumps(order).encode(),
            capture_output=True,
            check=False,
        )
        try:
            return [
                str(problem) for problem in json.loads(done.stdout.splitlines()[-1])["problems"]
            ]
        except (ValueError, LookupError, TypeError):
            last = done.stderr.decode("utf-8", "replace").strip().splitlines()[-1:]
            return [f"its process ended with {done.returncode}: {' '.join(last)}"]


class BatchExecutor:
    """Collects the requests of models with a batch service; passes other work on.

    It makes no call. At the end of the session the process that keeps the run submits the
    collected requests (`Batches`).

    Arguments:
        models: those with a batch service.
        retries: times that a request with a temporary failure is submitted again.
        max_cost: US dollars that all batches of the ledger may cost; None: no limit.
    """

    def __init__(
        self,
        others: Executor,
        ledger: Ledger,
        models: Collection[str],
        retries: int,
        max_cost: float | None = None,
    ) -> None:
        self._others = others
        self._ledger = ledger
        self._models = frozenset(models)
        self._standing = ledger.standing(retries, max_cost)
        self._ready: list[tuple[str, Outcome]] = []
        self._file: IO[str] | None = None

    @property
    def lost(self) -> ModelError | None:
        return None if self._ready else self._others.lost

    @property
    def waits(self) -> Sequence[Mapping[str, Any]]:
        return self._others.waits

    def submit(self, work: Work, lane: str) -> None:
        """Collect a request for a batch; pass other work on."""
        key, request = work.key, work.task
        if not isinstance(request, Request) or lane not in self._models:
            self._others.submit(work, lane)
            return
        failure = self._standing.failed.get(key)
        if failure is None and key not in self._standing.under_way:
            self._collect(key, request, lane)
        self._ready.append((key, failure or pending(lane)))

    def _collect(self, key: str, request: Request, lane: str) -> None:
        if self._file is None:
            self._file = self._ledger.spool().open("a", encoding="ascii")
        fields = {
            "key": key,
            "model": lane,
            "attempt": self._standing.attempts.get(key, 0) + 1,
            "messages": as_openai(request.messages),
            "params": dict(request.params),
            "facts": describe(request),
        }
        self._file.write(json.dumps(fields, default=str) + "\n")
        self._file.flush()

    def outcomes(self, *, wait: bool) -> Sequence[tuple[str, Outcome]]:
        """Return the outcomes of collected requests, else outcomes of the other executor."""
        if self._ready:
            ready, self._ready = self._ready, []
            return ready
        return self._others.outcomes(wait=wait)

    def totals(self) -> Mapping[str, Any] | None:
        return self._others.totals()

    def stop(self, why: str) -> None:
        self._others.stop(why)

    def close(self) -> None:
        if self._file is not None:
            self._file.close()
            self._file = None
        self._others.close()
