"""The exit codes of a run, with their meanings; the documentation shows this table."""

from __future__ import annotations

from typing import NamedTuple

HOLDS, FAILS, UNDECIDED = 0, 10, 11
PENDING_CODE = 12


class ExitCode(NamedTuple):
    """An exit code and its meaning in runs with and without gates."""

    code: str
    with_gates: str
    without_gates: str


EXIT_CODES = (
    ExitCode(f"{HOLDS}", "every gate holds", "all tests passed"),
    ExitCode(
        "1",
        "the gates hold, but a test fails over a right answer and no gate names the test; "
        "or a changed answer fails its test; or there is no verdict",
        "an answer is wrong, or another test failed",
    ),
    ExitCode(
        "2 to 5", "pytest's own: interrupted, internal error, usage error, no tests", "the same"
    ),
    ExitCode(f"{FAILS}", "a gate fails", "-"),
    ExitCode(
        f"{UNDECIDED}",
        "no gate fails, and one is undecided or has too few answers; "
        "or no answer had a snapshot to compare with",
        "no answer had a snapshot to compare with",
    ),
    ExitCode(
        f"{PENDING_CODE}",
        "answers are pending in batches: repeat the same command later to continue",
        "the same",
    ),
)
