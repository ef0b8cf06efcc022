"""Runs of pytest with the plugin, and of bare items, for `benchmarks.engine`."""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks import process_tree
from benchmarks.items import BARE, PYTEST, STATEMENTS, SUITE, write_data
from benchmarks.litellm_floor import ENVIRONMENT as LITELLM_ENVIRONMENT
from benchmarks.load_server import Running, running
from benchmarks.process_tree import Cost

__all__ = ["Bare", "Bench", "Grid", "Measured"]

SERIALIZERS = ("html", "csv", "json", "markdown", "indexed_row_major", "df", "concat")
PERTURBATIONS = ("none", "shuffle_rows", "transpose", "insert_empty_rows", "shuffle_cols")

CONFTEST = """
import os, pathlib, time

def pytest_collection_finish(session):
    folder = os.environ.get("BENCH_COLLECTED")
    if folder:
        pathlib.Path(folder, str(os.getpid())).write_text(repr(time.time()))
"""


@dataclass(frozen=True)
class Grid:
    """The cases of a run."""

    examples: int
    serializers: int = 5
    perturbations: int = 1

    @property
    def cases(self) -> int:
        return self.examples * self.serializers * self.perturbations

    def times(self, scale: float) -> Grid:
        whole = max(1, round(self.examples * scale / STATEMENTS)) * STATEMENTS
        return Grid(whole, self.serializers, self.perturbations)


@dataclass
class Measured:
    """A run of pytest, the server's counts, and the results."""

    cost: Cost
    server: dict[str, Any]
    collected: float | None
    """Unix time at which the last process finished collection."""
    records: int
    answered: int
    """Records with an answer."""


@dataclass(frozen=True)
class Bare:
    """A run of no-op items: the cost of pytest and its plugins alone."""

    cost: Cost
    rate: float
    """Items a second after collection."""


@dataclass
class Bench:
    """A folder for runs of pytest."""

    root: Path
    scale: float
    wait: float
    transport: str | None = None
    """The value of `--bench-transport`; None to leave the option out."""
    peers: Path | None = None
    """The folder with other tools' environments."""
    lines: list[dict[str, Any]] = field(default_factory=list)

    def __post_init__(self) -> None:
        (self.root / "pytest.ini").write_text("[pytest]\n")
        (self.root / "test_suite.py").write_text(SUITE)
        (self.root / "conftest.py").write_text(CONFTEST)
        (self.root / "test_bare.py").write_text(BARE)
        self._runs = 0
        self.results = self.root
        """Of the last run."""
        self._folders: dict[int, Path] = {}
        self._bare: dict[tuple[Grid, int], Bare] = {}
        helped = subprocess.run(
            [*PYTEST, "--help"], cwd=self.root, capture_output=True, text=True, check=True
        )
        self.has_store = "--bench-store=" in helped.stdout
        self.has_connections = "--bench-connections=" in helped.stdout

    def serve(
        self, wait: float | None = None, log: Path | None = None
    ) -> AbstractContextManager[Running]:
        return running(wait=self.wait if wait is None else wait, log=log)

    def data(self, examples: int) -> Path:
        if examples not in self._folders:
            folder = self._folders[examples] = self.root / f"data-{examples}"
            write_data(folder, examples)
        return self._folders[examples]

    def environment(self, **more: str) -> dict[str, str]:
        dropped = {"PYTHONDONTWRITEBYTECODE", "PYTEST_ADDOPTS", "PYTEST_XDIST_AUTO_NUM_WORKERS"}
        kept = {name: value for name, value in os.environ.items() if name not in dropped}
        cache = {"XDG_CACHE_HOME": str(self.root / "cache")}
        return kept | cache | {"OPENAI_API_KEY": "x", "PYTHONHASHSEED": "0"} | more

    def arguments(self, grid: Grid) -> list[str]:
        return [
            "test_suite.py",
            f"--bench-data={self.data(grid.examples)}",
            f"--bench-limit={grid.examples}",
            "--bench-shots=0",
            f"--bench-serializer={','.join(SERIALIZERS[: grid.serializers])}",
            f"--bench-perturbation={','.join(PERTURBATIONS[: grid.perturbations])}",
        ]

    def run(
        self,
        grid: Grid,
        server: Running,
        *,
        connections: int,
        workers: int,
        store: Path | None = None,
        kill_at: float | None = None,
        more: Sequence[str] = (),
        at: Callable[[float], None] = lambda _: None,
    ) -> Measured:
        """Run the suite once; with `kill_at`, kill it at that share of answered cases.

        `more` are further arguments. `at` is called regularly with the share of answered cases.
        """
        self._runs += 1
        results = self.results = self.root / f"results-{self._runs}"
        marks = self.root / f"collected-{self._runs}"
        marks.mkdir()
        command = [*PYTEST, *self.arguments(grid), "-n", str(workers)]
        command += ["--model=openai/test-model", f"--bench-api-base={server.url}"]
        command += [f"--bench-results={results}", *more]
        if self.transport is not None:
            command.append(f"--bench-transport={self.transport}")
        if self.has_connections:
            command.append(f"--bench-connections={connections}")
        if self.has_store:
            command.append(f"--bench-store={store or self.root / f'store-{self._runs}'}")

        def done() -> float:
            share = float(server.stats()["answered"]) / grid.cases
            at(share)
            return share

        cost = process_tree.run(
            command,
            cwd=self.root,
            env=self.environment(BENCH_COLLECTED=str(marks)),
            output=self.root / f"output-{self._runs}.txt",
            progress=done,
            kill_when=None if kill_at is None else lambda: done() >= kill_at,
        )
        if cost.returncode not in {0, 1} and kill_at is None:
            tail = (self.root / f"output-{self._runs}.txt").read_text()[-3000:]
            sys.exit(f"pytest ended with {cost.returncode}: {' '.join(command)}\n{tail}")
        times = [float(mark.read_text()) for mark in marks.iterdir()]
        outcomes = outcomes_of(results / "records.jsonl")
        answered = sum(outcome in {"right", "wrong"} for outcome in outcomes)
        stats = server.stats()
        if kill_at is None:
            if answered != grid.cases:
                self.show("", "records with an answer", f"{answered}", f"{grid.cases}", False)
            if stats["prompts"] != grid.cases:
                self.show("", "distinct prompts", f"{stats['prompts']}")
        return Measured(cost, stats, max(times, default=None), len(outcomes), answered)

    def bare(self, grid: Grid, workers: int) -> Bare:
        """Run no-op items with the ids of a grid's cases, once for each number of workers."""
        if (grid, workers) not in self._bare:
            self._bare[grid, workers] = self._run_bare(grid, workers)
        return self._bare[grid, workers]

    def _run_bare(self, grid: Grid, workers: int) -> Bare:
        listed = subprocess.run(
            [*PYTEST, "--collect-only", "-q", *self.arguments(grid)],
            cwd=self.root,
            env=self.environment(),
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        ids = [line.partition("[")[2][:-1] for line in listed.splitlines() if "::" in line]
        if len(ids) != grid.cases:
            sys.exit(f"collected {len(ids)} cases instead of {grid.cases}")
        (self.root / "ids.json").write_text(json.dumps(ids))
        command = [*PYTEST, "test_bare.py", "-n", str(workers)]
        with tempfile.TemporaryDirectory() as marks:
            env = self.environment(BENCH_COLLECTED=marks)
            cost = process_tree.run(command, cwd=self.root, env=env)
            collected = max(float(mark.read_text()) for mark in Path(marks).iterdir())
        if cost.returncode != 0:
            sys.exit(f"pytest ended with {cost.returncode}: {' '.join(command)}")
        return Bare(cost, grid.cases / (cost.started + cost.wall_s - collected))

    def import_s(self) -> float:
        """Return the seconds from the start of a process until it has imported litellm."""
        script = "import litellm, time; print(time.time())"
        started = time.time()
        said = subprocess.run(
            [sys.executable, "-c", script],
            env=self.environment() | LITELLM_ENVIRONMENT,
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        return float(said) - started

    def efficiency(self, measured: Measured, connections: int) -> float:
        """Return the ideal wall time for the distinct prompts, divided by the real one."""
        ideal: float = measured.server["prompts"] * self.wait / connections
        return ideal / measured.cost.wall_s

    def show(self, run: str, what: str, value: str, goal: str = "", holds: Any = None) -> None:
        """Print a line of the table and keep it."""
        verdict = "" if holds is None else "holds" if holds else "MISSED"
        print(f"{run:40}{what:46}{value:>14}  {goal:14}{verdict}", flush=True)
        self.lines.append(
            {"run": run, "what": what, "value": value, "goal": goal, "verdict": verdict}
        )


def outcomes_of(records: Path) -> list[str]:
    if not records.exists():
        return []
    with records.open(encoding="utf-8") as lines:
        return [json.loads(line)["outcome"] for line in lines if line.endswith("\n")]
