"""Collect the answers of batches and submit new batches, in the process that keeps the run."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.executors.batch._ledger import Batch, Ledger, written_base
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
