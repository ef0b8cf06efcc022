"""The engine against its goals: efficiency, memory, CPU, workers, stored answers, kill -9.

    python -m benchmarks.engine [--quick] [--rows 1,4] [--peers FOLDER]

Each figure is measured on whole process trees, from process start, against a server process that
only waits (`benchmarks.load_server`). Efficiency is the ideal wall time (calls x wait /
connections) divided by the real one. The table also contains its limits here: a bare import of
litellm, and empty pytest items with the same plugins. `--peers` also measures other tools (see
`benchmarks.peers`), with the first and the third row.
The whole table takes about half an hour on two quiet cores, `--quick` a few minutes. Reduced
runs miss the goals, because few cases share the fixed cost of a start.
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path

from benchmarks.engine_runs import Bare, Bench, Grid, Measured
from benchmarks.peers import Outcome, compare

BROKER = "pytest_tablebench.executors.local.broker"

PEERS_CASES = 2000
"""Cases of the third row for other tools, because some make thirty a second. Rates are compared."""

PROCESSING_S = 0.5
"""An answer that was read this long ago has to be stored, even on a busy machine."""


def _name(grid: Grid, connections: int, workers: int) -> str:
    return f"{grid.cases} cases, {connections} in flight, -n {workers}"


def _show_common(bench: Bench, run: str, measured: Measured, connections: int) -> None:
    """Print the lines of each run against the server."""
    cost, server = measured.cost, measured.server
    most = server["max_in_flight"]
    bench.show(run, "most calls in flight", f"{most}", f"<= {connections}", most <= connections)
    bench.show(run, "  on average", f"{server['mean_in_flight']:.1f}")
    repeated = server["repeated"]
    bench.show(run, "prompts asked more than once", f"{repeated}", "0", repeated == 0)
    bench.show(run, "wall time", f"{cost.wall_s:.1f} s")
    bench.show(run, "  until the first call", f"{server['first_request'] - cost.started:.1f} s")
    tail = cost.started + cost.wall_s - server["last_answer"]
    bench.show(run, "  from the last answer to the end", f"{tail:.1f} s")
    if cost.linger_s > 1 or cost.left_over:
        left = f"{cost.linger_s:.1f} s, {cost.left_over}"
        bench.show(run, "processes that stayed behind", left, "0", False)
    bench.show(run, "CPU of the tree", f"{cost.cpu_s:.1f} s")
    shared = "" if cost.peak_pss_mb is None else f" ({cost.peak_pss_mb:.0f} PSS)"
    bench.show(run, "peak memory of the tree", f"{cost.peak_rss_mb:.0f}{shared} MB")
    bench.show(run, "processes with litellm", f"{cost.litellm}", "<= 2", cost.litellm <= 2)


@dataclass(frozen=True)
class Floor:
    """The ceiling of this machine: the calls of a run made by scripts that only call litellm."""

    scripts: int
    efficiency: float
    call_cpu_s: float
    """Of one call."""

    @classmethod
    def measured(cls, bench: Bench, run: Measured, connections: int) -> Floor:
        """Make the calls of a run with as many processes as the run used."""
        scripts = max(1, run.cost.litellm)
        calls = run.server["requests"] // scripts
        size = round(run.server["body_bytes"])
        started = time.perf_counter()
        with bench.serve() as server:
            command = [sys.executable, "-m", "benchmarks.litellm_floor", server.url]
            processes = [
                subprocess.Popen(
                    [*command, str(calls), str(connections // scripts), str(size)],
                    cwd=Path(__file__).parent.parent,
                    env=bench.environment(),
                    stdout=subprocess.PIPE,
                    text=True,
                )
                for _ in range(scripts)
            ]
            said = [json.loads(process.communicate()[0]) for process in processes]
        wall = time.perf_counter() - started
        return cls(
            scripts,
            calls * scripts * bench.wait / connections / wall,
            sum(one["calls_cpu_s"] for one in said) / (calls * scripts),
        )

    def show(self, bench: Bench, run: str) -> None:
        what = f"  bare scripts over litellm ({self.scripts})"
        bench.show(run, what, f"{self.efficiency:.2f}")
        bench.show(run, "    CPU of one of its calls", f"{self.call_cpu_s * 1000:.2f} ms")


def _show_start(bench: Bench, run: str, measured: Measured, connections: int) -> None:
    """Print the efficiency that a bare import of litellm allows."""
    alone = bench.import_s()
    ideal = measured.server["prompts"] * bench.wait / connections
    bench.show(run, "  a bare import of litellm", f"{alone:.1f} s")
    bench.show(run, "  efficiency that it leaves", f"{ideal / (ideal + alone):.2f}")


def _show_own_cpu(bench: Bench, run: str, measured: Measured, bare: Bare, goal: float) -> None:
    """Print the CPU of a run, of the processes that make its calls, and of bare items."""
    cost, each = measured.cost, 1000 / measured.records
    own = (cost.cpu_s - cost.litellm_cpu_s - bare.cost.cpu_s) * each
    modules = cost.cpu_by_module.items()
    broker = sum(cpu for module, cpu in modules if module.startswith(BROKER)) * each
    bench.show(run, "CPU of the tree, a case", f"{cost.cpu_s * each:.2f} ms")
    bench.show(run, "  of the callers, imports too", f"{cost.litellm_cpu_s * each:.2f} ms")
    bench.show(run, "  of bare items", f"{bare.cost.cpu_s * each:.2f} ms")
    bench.show(run, "  without the two: our own", f"{own:.2f} ms", f"<= {goal} ms", own <= goal)
    bench.show(run, "    of that, the broker", f"{broker:.2f} ms")


OWN_CPU_MS = {0: 1.0, 2: 1.5}
"""Goal for a case, by the number of workers."""


def speed(bench: Bench) -> None:
    """Measure 1,000 cases at 64 in flight, also with other tools."""
    grid, connections = Grid(200).times(bench.scale), 64
    found = []
    for workers, goal in ((0, 0.72), (2, 0.67)):
        run = _name(grid, connections, workers)
        with bench.serve() as server:
            measured = bench.run(grid, server, connections=connections, workers=workers)
        found.append(bench.efficiency(measured, connections))
        shown = f"{found[-1]:.2f}"
        bench.show(run, "efficiency", shown, f">= {goal:.2f}", found[-1] >= goal)
        Floor.measured(bench, measured, connections).show(bench, run)
        _show_common(bench, run, measured, connections)
        _show_start(bench, run, measured, connections)
    peers = _peers(bench, grid.cases, connections, bench.wait)
    if peers:
        best = max(one.efficiency for one in peers)
        for workers, own in zip((0, 2), found, strict=True):
            run = _name(grid, connections, workers)
            shown = f"{own:.2f}"
            bench.show(run, "efficiency, of all tools", shown, f">= {best:.2f}", own >= best)


def _peers(bench: Bench, cases: int, connections: int, wait: float) -> list[Outcome]:
    """Measure the other tools over the same load, if there are any."""
    if bench.peers is None:
        return []
    load = f"{cases} in {wait * 1000:g} ms"
    return compare(
        bench.peers,
        questions=cases,
        connections=connections,
        wait=wait,
        show=lambda who, what, value: bench.show(f"{who}, {load}", what, value),
    )


def steady(bench: Bench) -> None:
    """Measure 20,000 cases at 128 in flight: efficiency, memory, and our own CPU for a case."""
    grid, connections = Grid(1000, 5, 4).times(bench.scale), 128
    floor = None
    for workers, least in ((0, 0.95), (2, 0.92)):
        with bench.serve() as server:
            measured = bench.run(grid, server, connections=connections, workers=workers)
        cost = measured.cost
        run = _name(grid, connections, workers)
        efficiency = bench.efficiency(measured, connections)
        shown = f"{efficiency:.2f}"
        bench.show(run, "efficiency", shown, f">= {least:.2f}", efficiency >= least)
        floor = floor or Floor.measured(bench, measured, connections)
        floor.show(bench, run)
        _show_common(bench, run, measured, connections)
        _show_start(bench, run, measured, connections)
        if workers == 0:
            peak = cost.peak_rss_mb
            bench.show(run, "peak memory", f"{peak:.0f} MB", "<= 700 MB", peak <= 700)
        early, late = cost.rss_mb_between(0.10, 0.15), cost.rss_mb_between(0.90, 1.0)
        if early is not None and late is not None:
            growth = late / early - 1
            shown = f"{early:.0f} > {late:.0f} MB"
            bench.show(run, "memory at 10 % > at the end", shown, "+ <= 10 %", growth <= 0.10)
        bare = bench.bare(grid, workers)
        _show_own_cpu(bench, run, measured, bare, OWN_CPU_MS[workers])


def fast(bench: Bench) -> None:
    """Measure 6,000 cases at 256 in flight with answers after 20 ms; other tools with fewer."""
    grid, connections, wait = Grid(1200).times(bench.scale), 256, 0.02
    rates = []
    for workers, goal in ((0, 600), (2, 500)):
        with bench.serve(wait=wait) as server:
            measured = bench.run(grid, server, connections=connections, workers=workers)
        run = f"{grid.cases} in 20 ms, {connections} at once, -n {workers}"
        took = measured.server["last_answer"] - measured.server["first_request"]
        rates.append(measured.server["requests"] / took)
        rate, bare = rates[-1], bench.bare(grid, workers)
        bench.show(run, "cases a second", f"{rate:.0f}", f">= {goal}", rate >= goal)
        bench.show(run, "  bare items of pytest a second", f"{bare.rate:.0f}")
        _show_common(bench, run, measured, connections)
        _show_own_cpu(bench, run, measured, bare, OWN_CPU_MS[workers])
    cases = min(grid.cases, PEERS_CASES)
    if peers := _peers(bench, cases, connections, wait):
        best, lowest = max(one.rate for one in peers), min(rates)
        shown = f"{lowest:.0f}"
        bench.show("ours in 20 ms", "a second, of all", shown, f">= {best:.0f}", lowest >= best)


def crowd(bench: Bench) -> None:
    """Measure 1,000 cases with sixteen workers."""
    grid, connections, workers = Grid(200).times(bench.scale), 64, 16
    with bench.serve() as server:
        measured = bench.run(grid, server, connections=connections, workers=workers)
    run = _name(grid, connections, workers)
    if measured.collected is not None:
        first = measured.server["first_request"] - measured.collected
        bench.show(run, "end of collection to first call", f"{first:.1f} s", "<= 3 s", first <= 3)
    efficiency = bench.efficiency(measured, connections)
    bench.show(run, "efficiency", f"{efficiency:.2f}")
    peak = measured.cost.peak_rss_mb
    bench.show(run, "peak memory", f"{peak:.0f} MB", "<= 1200 MB", peak <= 1200)
    _show_common(bench, run, measured, connections)


def stored(bench: Bench) -> None:
    """Measure 35,000 cases whose answers are all stored, and bare no-op items."""
    if not bench.has_store:
        print("no answer store in this version: nothing to measure for stored answers")
        return
    grid, store = Grid(1000, 7, 5).times(bench.scale), bench.root / "store-filled"
    with bench.serve(wait=0.0) as server:
        filled = bench.run(grid, server, connections=128, workers=0, store=store)
        run = f"{grid.cases} cases, no wait, -n 0"
        rate = grid.cases / filled.cost.wall_s
        bench.show(run, "cases a second, filling the store", f"{rate:.0f}")
        for workers in (0, 2):
            asked = server.stats()["requests"]
            measured = bench.run(grid, server, connections=128, workers=workers, store=store)
            asked = measured.server["requests"] - asked
            bare = bench.bare(grid, workers)
            run = f"{grid.cases} stored answers, -n {workers}"
            ratio = measured.cost.cpu_s / bare.cost.cpu_s
            shown = f"{measured.cost.cpu_s:.1f} / {bare.cost.cpu_s:.1f} s"
            bench.show(run, "CPU of the run / of bare items", shown)
            bench.show(run, "  their ratio", f"{ratio:.2f}", "<= 2.5", ratio <= 2.5)
            shown = f"{measured.cost.wall_s:.1f} / {bare.cost.wall_s:.1f} s"
            bench.show(run, "wall time of the two", shown)
            bench.show(run, "peak memory", f"{measured.cost.peak_rss_mb:.0f} MB")
            bench.show(run, "calls made", f"{asked}", "0", asked == 0)
            bench.show(run, "processes with litellm", f"{measured.cost.litellm}")


def delivered_answers(log: Iterable[str]) -> dict[str, float]:
    """Return the prompts whose answer a client has read, and when, from a load server's log."""
    counts: Counter[str] = Counter()
    times: dict[str, float] = {}
    for line in log:
        digest, at, what = line.split()
        counts[digest] += 1 if what == "answered" else -1
        if what == "answered":
            times[digest] = float(at)
    return {digest: at for digest, at in times.items() if counts[digest] > 0}


def asked_again(
    delivered: Iterable[str], before: Mapping[str, list[int]], after: Mapping[str, list[int]]
) -> list[str]:
    """Return the delivered prompts with more requests after than before."""
    return [digest for digest in delivered if after[digest][0] > before[digest][0]]


def killed(bench: Bench) -> None:
    """Kill -9 all processes at half of the cases, then run the same command again."""
    grid, connections, workers = Grid(200).times(bench.scale), 64, 2
    run, store = f"{grid.cases} cases, killed at 50 %, -n 2", bench.root / "store-killed"
    log = bench.root / "killed.log"
    with bench.serve(log=log) as server:
        first = bench.run(
            grid, server, connections=connections, workers=workers, store=store, kill_at=0.5
        )
        while (before := server.stats(prompts=True))["in_flight"]:
            pass  # connections of killed processes are being closed
        delivered = delivered_answers(log.read_text().splitlines())
        again = bench.run(grid, server, connections=connections, workers=workers, store=store)
        after = server.stats(prompts=True)["by_prompt"]
    end = first.cost.started + first.cost.wall_s
    repeated = asked_again(delivered, before["by_prompt"], after)
    bench.show(run, "answers delivered before", f"{len(delivered)}")
    lost = f"{before['gone']} + {before['unread']}"
    bench.show(run, "calls cut off + answers unread", lost)
    bench.show(run, "delivered answers asked again", f"{len(repeated)}", "0", not repeated)
    if repeated:
        ages = [end - delivered[digest] for digest in repeated]
        shown = f"{min(ages):.3f} to {max(ages):.3f} s"
        bench.show(run, "  delivered so long before the end", shown)
        # An answer that litellm has not yet processed is lost with the process.
        long = sum(age > PROCESSING_S for age in ages)
        bench.show(run, f"  over {PROCESSING_S} s before", f"{long}", "0", long == 0)
    calls = again.server["requests"] - before["requests"]
    bench.show(run, "calls of the second run", f"{calls}")
    bench.show(run, "cases with an answer in the end", f"{again.answered}", f"{grid.cases}")


ROWS = {"1": speed, "2": steady, "3": fast, "4": crowd, "5": stored, "6": killed}
"""In the order of the goals; our own CPU is measured with the second."""


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="a tenth of the cases, .1 s a call")
    parser.add_argument("--scale", type=float, help="this share of the cases")
    parser.add_argument("--wait", type=float, help="seconds a call takes; 0.5")
    parser.add_argument("--transport", help="what --bench-transport is given")
    parser.add_argument("--rows", default=",".join(ROWS), help=f"of {', '.join(ROWS)}")
    parser.add_argument("--peers", type=Path, help="folder of other tools' environments")
    parser.add_argument("--json", type=Path, help="also write the lines there")
    given = parser.parse_args()
    scale = given.scale or (0.1 if given.quick else 1.0)
    wait = given.wait or (0.1 if given.quick else 0.5)
    load = f", load {os.getloadavg()[0]:.1f}" if hasattr(os, "getloadavg") else ""
    print(f"{os.cpu_count()} cores{load}, Python {sys.version.split()[0]}, {wait} s a call")
    with tempfile.TemporaryDirectory() as temporary:
        bench = Bench(Path(temporary), scale, wait, given.transport, given.peers)
        for row in given.rows.split(","):
            ROWS[row](bench)
    if given.json is not None:
        given.json.write_text(json.dumps(bench.lines, indent=1) + "\n")


if __name__ == "__main__":
    main()
