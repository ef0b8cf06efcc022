"""`tablebench sandbox`."""

from __future__ import annotations

import argparse
from typing import Any

from pytest_tablebench.util.names import printable

TRIED = (
    "A program tried to write and read outside its folder, to reach the network, to start a",
    "process, to see variables of the environment, and to signal or kill the processes around it.",
)


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser(
        "sandbox", help="what shuts in the programs that models write here, and what does not"
    )
    parser.add_argument(
        "--bench-sandbox-container", metavar="IMAGE", help="try a container of this image, too"
    )
    parser.set_defaults(lines=_sandbox)


def _sandbox(options: argparse.Namespace) -> tuple[list[str], int]:
    """Return the ways to shut programs in with what the escape test said, and 1 if none holds."""
    from pytest_tablebench.metrics.steps import Limits
    from pytest_tablebench.sandbox import backends, choose

    tried = choose(backends(options.bench_sandbox_container), every=True)
    used = next((attempt for attempt in tried if attempt.why is None), None)
    lines = []
    for attempt in tried:
        state = "used" if attempt is used else "holds" if attempt.why is None else "no"
        reason = attempt.backend.holds if attempt.why is None else attempt.why
        lines.append(f"{attempt.backend.name:<11} {state:<6} {printable(reason)}")
    if used is None:
        lines.append("Cases that need programs run have no answer here (no_sandbox).")
    limits = ", ".join(f"{name} {value:g}" for name, value in vars(Limits()).items())
    return [*lines, *TRIED, f"Limits of a program, unless its metric says others: {limits}."], int(
        used is None
    )
