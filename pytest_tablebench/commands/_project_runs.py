"""Runs of pytest with the project's own configuration, each in a process of its own."""

from __future__ import annotations

import json
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import PENDING_CODE
from pytest_tablebench.results.exit_codes import FAILS, HOLDS, UNDECIDED
from pytest_tablebench.results.folder import RUN

FINISHED = (HOLDS, 1, FAILS, UNDECIDED)
"""Exit codes of a session that ran its tests."""

NO_TESTS = 5

RESERVED = (
    *("--bench-model", "--model", "--bench-results", "--bench-plan", "--bench-plan-json"),
    *("--bench-baseline", "--collect-only", "--co"),
)
"""Options of pytest that every command sets itself."""

_GATE = "--bench-gate"
_WITHOUT_GATES = ("-o", "bench_gate=", "-o", "bench_baseline=")
_WHOLE = ("-o", "bench_stop_when_decided=")
"""A run that ends when its gates are decided has too few pairs."""


class PendingAnswers(SettingsError):
    """A run waits for batches; the same command continues it later."""


@dataclass(frozen=True)
class Project:
    """The project in the current folder, with arguments for each of its runs.

    Arguments:
        command: the name of the command that runs it.
        arguments: the caller's arguments for pytest.
        options: options of pytest that the command sets for each run.
        reserved: further options that the caller may not set.
    """

    command: str
    arguments: tuple[str, ...] = ()
    options: tuple[str, ...] = ()
    reserved: tuple[str, ...] = ()

    def check(self) -> None:
        """Raise `SettingsError` for an argument that the command sets itself."""
        names = {*RESERVED, *self.reserved, *(word.partition("=")[0] for word in self.options)}
        for argument in self.arguments:
            name = argument.partition("=")[0]
            if name.startswith("--") and name in names:
                raise SettingsError(f"{argument}: `{self.command}` sets {name} itself")

    def plan(self, models: Sequence[str], max_cost: float | None) -> dict[str, dict[str, Any]]:
        """Return the fields of each model's `ModelPlan`, by model; makes no call.

        Models whose answers cost nothing have no plan; the judge's name starts with `judge `.
        Raises `SettingsError` if no case is selected, or with pytest's own error.
        """
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder, "plan.json")
            words = [*self._words(gates=False), f"--bench-plan-json={file}", *_budget(max_cost)]
            done = subprocess.run(  # noqa: S603 - this interpreter, without a shell
                [*words, *(f"--bench-model={model}" for model in models)],
                capture_output=True,
                encoding="utf-8",
                errors="replace",
                check=False,
            )
            if not file.exists():
                raise SettingsError(_fault(done))
            content = json.loads(file.read_text(encoding="utf-8"))
        if not content["cases"]:
            raise SettingsError(_fault(done))
        return {
            f"{'judge ' if plan['judges'] else ''}{plan['model']}": plan
            for plan in content["models"]
        }

    def run(
        self,
        model: str | None,
        folder: Path,
        *,
        baseline: Path | None = None,
        max_cost: float | None = None,
        may_stop: bool = False,
    ) -> None:
        """Run the project with one model into a folder; pytest's output is shown.

        Without a `model` it runs with the project's own. With a `baseline` the project's gates are
        judged. Raises `PendingAnswers` if pytest waits for batches, and `SettingsError` if it does
        not finish; with `may_stop` only if it leaves no run.
        """
        words = self._words(gates=baseline is not None)
        words += [] if model is None else [f"--bench-model={model}"]
        words += [f"--bench-results={folder}", *_budget(max_cost)]
        words += [f"--bench-baseline={baseline}"] if baseline is not None else []
        sys.stdout.flush()
        code, model_name = _waited(words), model or "the project's model"
        if code == PENDING_CODE:
            raise PendingAnswers(
                f"the answers of {model_name} are pending in batches: repeat the same command later"
            )
        if not (code in FINISHED or may_stop) or not (folder / RUN).is_file():
            raise SettingsError(
                f"pytest ended with exit code {code} for {model_name}; see its output above. Its "
                f"answers so far are in the store, so that the same command continues"
            )

    def _words(self, *, gates: bool) -> list[str]:
        arguments = self.arguments if gates else _without_gates(self.arguments)
        words = [sys.executable, "-m", "pytest", *arguments, *_WHOLE]
        words += [] if gates else _WITHOUT_GATES
        return [*words, *self.options]


def _without_gates(arguments: Sequence[str]) -> list[str]:
    """Return arguments without the gates among them."""
    kept, skips = list[str](), False
    for argument in arguments:
        if skips:
            skips = False
        elif argument == _GATE:
            skips = True
        elif not argument.startswith(f"{_GATE}="):
            kept.append(argument)
    return kept


def _waited(words: Sequence[str]) -> int:
    """Run a command to its end and return its exit code.

    After an interrupt, which the terminal sends to pytest too, pytest finishes its run folder.
    """
    with subprocess.Popen(words) as process:  # noqa: S603 - this interpreter, without a shell
        try:
            return process.wait()
        except KeyboardInterrupt:
            process.wait()
            raise


def _budget(max_cost: float | None) -> list[str]:
    return [] if max_cost is None else [f"--bench-max-cost={max_cost:.6f}"]


def _fault(done: subprocess.CompletedProcess[str]) -> str:
    """Return why there is no plan, as one line."""
    errors = [
        line.removeprefix("ERROR:").strip()
        for line in done.stderr.splitlines()
        if line.startswith("ERROR:")
    ]
    if errors:
        return errors[0]
    lines = [line.strip() for line in done.stdout.splitlines() if line.strip()]
    last = "; ".join(lines[-3:])
    if done.returncode in (HOLDS, NO_TESTS):
        return f"no case was selected, so there is nothing to compare. pytest: {last}"
    return f"pytest ended with exit code {done.returncode} before any call: {last}"
