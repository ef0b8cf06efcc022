"""`tablebench sandbox`."""

from __future__ import annotations

import argparse

TRIED = (
    "A program tried to write and read outside its folder, to reach the network, to start a",
    "process, to see variables of the environment, and to signal or kill the processes around it.",
)


def try_sandboxes(options: argparse.Namespace) -> tuple[list[str], int]:
    """Return a line on each kind of sandbox after its escape test, and 1 if none works."""
    from pytest_tablebench.metrics.steps import Limits
    from pytest_tablebench.sandbox import backends, choose

    tried = choose(backends(options.bench_sandbox_container), every=True)
    used = next((attempt for attempt in tried if attempt.why is None), None)
    lines = []
    for attempt in tried:
        state = "used" if attempt is used else "holds" if attempt.why is None else "no"
        reason = attempt.backend.holds if attempt.why is None else attempt.why
        lines.append(f"{attempt.backend.name:<11} {state:<6} {reason}")
    if used is None:
        lines.append("Cases whose answer is a program have no answer here (no_sandbox).")
    limits = ", ".join(f"{name} {value:g}" for name, value in vars(Limits()).items())
    return [*lines, *TRIED, f"Limits of a program, unless its metric sets others: {limits}."], int(
        used is None
    )
