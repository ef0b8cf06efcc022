"""A run on a local Dask cluster that loses a worker and its scheduler on the way.

    python -m benchmarks.scale [--cases 100000] [--connections 128] [--workers 2] [--waits 0,0.5]

Measures cases a second, the share of the ideal wall time (calls x wait / connections) and memory
for each case, with a server that answers at once and one that takes half a second. At a third of
the cases a worker is killed, at two thirds the scheduler with all workers; both are started again.
Then the requests for stored answers are counted. A second run over the same store, without a
cluster, has to give the same records and make no call.
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

from benchmarks.dask_cluster import ROLES, Cluster, cluster
from benchmarks.engine import PROCESSING_S
from benchmarks.engine_runs import Bench, Grid

OF_THE_RUN = {"latency_s", "from_store", "cost_usd", "steps"}
"""Fields of a record that depend on one run's calls."""


WEIGH_S = 1.0
"""Seconds between two measurements of the cluster's memory and CPU."""


def asked_though_stored(log: Path, wait: float) -> tuple[int, int]:
    """Return how many prompts were answered twice, and how many of these after they were stored.

    The log of the load server has a line for each answer: digest, Unix time, event.
    """
    times: dict[str, list[float]] = {}
    for line in log.read_text().splitlines():
        digest, at, what = line.split()
        if what == "answered":
            times.setdefault(digest, []).append(float(at))
    twice = [sorted(found) for found in times.values() if len(found) > 1]
    late = [found for found in twice if found[1] - wait - found[0] > PROCESSING_S]
    return len(twice), len(late)


def undisturbed(log: Path, cases: int) -> float:
    """Return the answers a second before the first mishap, from 5 to 30 % of the answers."""
    times = sorted(float(line.split()[1]) for line in log.read_text().splitlines())
    low, high = round(0.05 * cases), round(0.30 * cases)
    return (high - low) / (times[high] - times[low])


def records(folder: Path) -> dict[str, dict[str, Any]]:
    """Return a run's records without the fields that depend on its calls."""
    found = {}
    with (folder / "records.jsonl").open(encoding="utf-8") as lines:
        for line in lines:
            record = json.loads(line)
            kept = {name: value for name, value in record.items() if name not in OF_THE_RUN}
            found[record["case_id"]] = kept
    return found


class Mishaps:
    """Kills parts of the cluster at given shares of answered cases, and measures the cluster."""

    def __init__(self, there: Cluster) -> None:
        self._there = there
        self._due: list[tuple[float, str]] = [(1 / 3, "kill"), (2 / 3, "restart")]
        self.happened: list[str] = []
        self.weighed: list[tuple[float, dict[str, float]]] = []
        self._weigh_at = 0.0

    def __call__(self, share: float) -> None:
        if time.monotonic() >= self._weigh_at:
            self.weighed.append((share, json.loads(self._there.tell("weigh"))))
            self._weigh_at = time.monotonic() + WEIGH_S
        while self._due and share >= self._due[0][0]:
            what = self._due.pop(0)[1]
            self._there.tell(what)
            self.happened.append(what)

    def cpu_ms(self, role: str, cases: int) -> float | None:
        """Return the CPU of a part of the cluster for each case, before the first mishap."""
        inside = [(share, one[role]) for share, one in self.weighed if 0.05 <= share <= 1 / 3]
        if len(inside) < 2 or inside[0][0] == inside[-1][0]:
            return None
        (low, before), (high, after) = inside[0], inside[-1]
        return (after - before) / (high - low) / cases * 1000


def _growth(early: float | None, late: float | None, cases: float) -> str:
    if early is None or late is None:
        return "-"
    return f"{max(0.0, late - early) * 1024 / cases:.2f} KB"


def measure(bench: Bench, grid: Grid, wait: float, connections: int, workers: int) -> None:
    log, store = bench.root / f"answers-{wait}.log", bench.root / f"kept-{wait}"
    run = f"{grid.cases} cases, {wait:g} s a call"
    with bench.serve(wait=wait, log=log) as server, cluster(workers) as there:
        mishaps = Mishaps(there)
        more = ("--bench-executor=dask", f"--bench-scheduler={there.address}", "--bench-no-page")
        measured = bench.run(
            grid, server, connections=connections, workers=0, store=store, more=more, at=mishaps
        )
        first = bench.results
        asked = server.stats()["requests"]
        again = bench.run(
            grid, server, connections=connections, workers=0, store=store, more=("--bench-no-page",)
        )
        calls = again.server["requests"] - asked
    cost = measured.cost
    rate = undisturbed(log, grid.cases)
    bench.show(run, "cases a second, undisturbed", f"{rate:.0f}")
    bench.show(run, "  over all, start and mishaps included", f"{grid.cases / cost.wall_s:.0f}")
    if wait:
        bench.show(run, "share of the ideal, undisturbed", f"{rate * wait / connections:.2f}")
        overall = grid.cases / cost.wall_s * wait / connections
        bench.show(run, "  over all", f"{overall:.2f}")
    most = measured.server["max_in_flight"]
    bench.show(run, "most calls in flight", f"{most}")
    bench.show(run, "CPU of pytest and broker, a case", f"{cost.cpu_s / grid.cases * 1000:.2f} ms")
    bench.show(run, "peak memory of the two", f"{cost.peak_rss_mb:.0f} MB")
    early, late = cost.rss_mb_between(0.1, 0.15), cost.rss_mb_between(0.9, 1.0)
    bench.show(run, "  its growth, a case", _growth(early, late, grid.cases * 0.8))
    for role in ROLES:
        used = mishaps.cpu_ms(role, grid.cases)
        bench.show(run, f"CPU of {role}, a case", "-" if used is None else f"{used:.2f} ms")
    peak = max((one["mb"] for _, one in mishaps.weighed), default=0.0)
    bench.show(run, "peak memory of the cluster", f"{peak:.0f} MB")
    happened = ", ".join(mishaps.happened)
    bench.show(run, "mishaps", happened, "kill, restart", happened == "kill, restart")
    twice, late_ones = asked_though_stored(log, wait)
    bench.show(run, "answered twice (in flight at a mishap)", f"{twice}")
    bench.show(run, "asked though stored", f"{late_ones}", "0", late_ones == 0)
    equal = records(first) == records(bench.results)
    bench.show(run, "run again: records equal", "yes" if equal else "no", "yes", equal)
    bench.show(run, "  calls", f"{calls}", "0", calls == 0)


def grid_of(cases: int) -> Grid:
    """Return a grid of about `cases` cases, in ToRR's usual five formats by two orders."""
    return Grid(max(5, cases // 50 * 5), 5, 2)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--cases", type=int, default=100_000)
    parser.add_argument("--connections", type=int, default=128)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--waits", default="0,0.5", help="seconds a call takes; 0,0.5")
    given = parser.parse_args()
    grid = grid_of(given.cases)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores{load}, Python {sys.version.split()[0]}")
    for wait in map(float, given.waits.split(",")):
        with tempfile.TemporaryDirectory() as temporary:
            bench = Bench(Path(temporary), 1.0, wait)
            measure(bench, grid, wait, given.connections, given.workers)


if __name__ == "__main__":
    main()
