"""The steps of the model gate: what action.yml runs, with nothing but the standard library.

`prepare` checks the inputs and finds the artifacts of earlier runs, `install` makes the
environment, `run` measures the model, or a part of the cases, or merges parts, and turns the exit
code into the job's. Every input comes in
an environment variable `GATE_...`, so that no text of a caller is ever read as shell or as code.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import shutil
import subprocess
import sys
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from artifacts import artifact_outputs, find
from inputs import (
    GateError,
    check,
    choice,
    lines,
    merging,
    one_line,
    printable,
    say,
    write,
    write_outputs,
)

__all__ = ["main"]

HOLDS, FAILS, UNDECIDED, BROKEN = 0, 10, 11, 1
"""Exit codes of the gate: the plugin's own, and one for everything that is no verdict."""

NOTHING = 5
"""Exit code of pytest where there is nothing to run."""

STATES = {HOLDS: "holds", FAILS: "fails", UNDECIDED: "undecided"}

RUNNER_FILES = ("GITHUB_ENV", "GITHUB_PATH", "GITHUB_OUTPUT", "GITHUB_STATE")
"""Files through which a process changes later steps; code under test has no business there."""


def main(arguments: list[str]) -> int:
    """Run one step and return its exit code."""
    steps: dict[str, Callable[[Mapping[str, str]], int]] = {
        "prepare": prepare,
        "install": install,
        "run": run,
    }
    try:
        if len(arguments) != 1 or arguments[0] not in steps:
            raise GateError(f"give one step: {', '.join(steps)}")
        return steps[arguments[0]](os.environ)
    except GateError as error:
        say("error", str(error))
        return BROKEN


# prepare


def prepare(environ: Mapping[str, str]) -> int:
    """Check the inputs, make the folders, and say which artifacts to download."""
    check(environ)
    name = one_line(environ, "GATE_NAME")
    temp = environ.get("RUNNER_TEMP")
    if not temp:
        raise GateError("RUNNER_TEMP is not set: this step runs inside a GitHub job")
    folder = Path(temp).resolve() / "tablebench" / name
    for part in ("work", "given/answers", "given/baseline"):
        (folder / part).mkdir(parents=True, exist_ok=True)

    number = one_line(environ, "GATE_SHARD").partition("/")[0]
    outputs = {"folder": str(folder), "part": f"-part-{number}" if number else ""}
    own = environ.get("GITHUB_REPOSITORY", "")
    answers = f"{name}-answers"
    found = find(environ, own, answers, finished=False)
    if found is None:
        say("notice", f"no artifact {answers} on the trusted branch yet: nothing to reuse")
    outputs |= artifact_outputs("answers", found)

    wanted = one_line(environ, "GATE_BASELINE_ARTIFACT")
    if wanted:
        repository = one_line(environ, "GATE_BASELINE_REPOSITORY") or own
        found = find(environ, repository, wanted, finished=True)
        if found is None:
            raise GateError(
                f"baseline-artifact: no artifact {printable(wanted)} of a successful run on the "
                f"trusted branch of {printable(repository)}; run the gate there once without a "
                f"baseline"
            )
        outputs |= artifact_outputs("baseline", found)
    write_outputs(environ, outputs)
    return 0


# install


def install(environ: Mapping[str, str]) -> int:
    """Make an environment of its own, install the package, and fetch datasets."""
    folder = Path(environ["GATE_FOLDER"])
    venv = folder / "venv"
    binaries = venv / ("Scripts" if os.name == "nt" else "bin")
    python = binaries / ("python.exe" if os.name == "nt" else "python")
    call(environ, [sys.executable, "-m", "venv", str(venv)])
    call(environ, [str(python), "-m", "pip", "install", "--quiet", *packages(environ)])
    if names := one_line(environ, "GATE_PULL"):
        wanted = [name for name in re.split(r"[\s,]+", names) if name]
        data = f"--bench-data={folder / 'data'}"
        call(environ, [str(binaries / "tablebench"), "pull", data, "--", *wanted])
    write_outputs(environ, {"python": str(python)})
    return 0


def packages(environ: Mapping[str, str]) -> list[str]:
    """Return what pip is asked for: by default the very commit this file belongs to."""
    wanted = lines(environ, "GATE_PACKAGE")
    if not wanted:
        root = Path(__file__).resolve().parents[3]
        return ["--constraint", str(root / "constraints.txt"), str(root)]
    if any(line.startswith("-") for line in wanted):
        raise GateError("package: requirements, one a line, no options of pip")
    return wanted


# run


def run(environ: Mapping[str, str]) -> int:
    """Measure the model, keep the answers, and return the job's exit code."""
    folder = Path(environ["GATE_FOLDER"])
    replay = replays(environ)
    if replay:
        say("notice", "no call is made: answers come from the artifact of the trusted branch only")
    if (folder / "run").exists():
        shutil.rmtree(folder / "run")
    # With tests of the caller's, their folder and configuration; without, nothing of theirs.
    where = Path(environ.get("GITHUB_WORKSPACE") or ".") if lines(environ, "GATE_TESTS") else None
    try:
        merges = merging(environ)
        arguments = merge_command(environ, folder) if merges else command(environ, folder, replay)
        code = measured(environ, arguments, where or folder / "work")
    finally:
        keep_answers(folder)
    if one_line(environ, "GATE_SHARD"):
        return part_concluded(environ, folder, code)
    judged = gates_judged(folder / "run")
    state = STATES.get(code, "error") if judged else "error"
    if state == "undecided" and unmeasured(judged):
        state = "error"  # `undecided: pass` is for what was measured
    result = folder / "run"
    write_outputs(
        environ, {"verdict": state, "pytest-exit-code": str(code), "run-folder": str(result)}
    )
    return concluded(state, code, judged, choice(environ, "GATE_UNDECIDED", ("fail", "pass")))


def concluded(state: str, code: int, judged: list[dict[str, Any]], undecided: str) -> int:
    """Say the verdict and return the exit code for it."""
    if state == "holds":
        say("notice", f"every gate holds ({len(judged)})")
        return HOLDS
    if state == "fails":
        say("error", "a gate fails: see the summary of this job, and report.html in its artifact")
        return FAILS
    if state == "undecided":
        level = "warning" if undecided == "pass" else "error"
        say(level, "a gate is undecided: more examples, a wider margin, or missing answers")
        return HOLDS if undecided == "pass" else UNDECIDED
    if code in {HOLDS, 1, *STATES} and not judged:
        say(
            "error", f"no gate was judged (pytest ended with {code}): give gates, and data for them"
        )
    elif code == UNDECIDED and (found := unmeasured(judged)):
        named = ", ".join(printable(gate) for gate in found)
        say("error", f"a gate had no data: {named}; the summary of this job says why")
    else:
        say("error", f"no verdict: pytest ended with {code}; the log above says why")
    return BROKEN


def part_concluded(environ: Mapping[str, str], folder: Path, code: int) -> int:
    """Say what came of a part of the cases and return the exit code for it: no gate is judged.

    One that was cut off is left to the job that merges: there its gates are undecided.
    """
    state = "part" if code in {HOLDS, NOTHING, UNDECIDED} else "error"
    facts = {"verdict": state, "pytest-exit-code": str(code), "run-folder": str(folder / "run")}
    write_outputs(environ, facts)
    if state == "error":
        say("error", f"this part has no result: pytest ended with {code}; the log above says why")
        return BROKEN
    if code == UNDECIDED:
        say("warning", "this part was cut off: the log above says why")
    elif code == NOTHING:
        say("notice", "this part has no case: there are fewer tables than parts, or few more")
    return HOLDS


def replays(environ: Mapping[str, str]) -> bool:
    """Whether only stored answers may be used: asked for, or the key is not here (a fork)."""
    if merging(environ):
        return False
    wish = choice(environ, "GATE_REPLAY", ("auto", "always", "never"))
    missing = bool(environ.get("GATE_API_KEY_NAME")) and not environ.get("GATE_API_KEY")
    return wish == "always" or (wish == "auto" and missing)


def command(environ: Mapping[str, str], folder: Path, replay: bool) -> list[str]:
    """Return the command line of pytest; each value is one argument, whatever is in it."""
    found = [environ["GATE_PYTHON"], "-m", "pytest"]
    found += lines(environ, "GATE_TESTS") or ["--pyargs", "pytest_tablebench.suites"]
    found += [f"--bench-model={one_line(environ, 'GATE_MODEL')}"]
    for option, variable in (
        ("--bench-dataset", "GATE_DATASETS"),
        ("--bench-max-cost", "GATE_BUDGET"),
        ("--bench-connections", "GATE_CONNECTIONS"),
        ("--bench-api-base", "GATE_API_BASE"),
    ):
        if value := one_line(environ, variable):
            found.append(f"{option}={value}")
    found += [f"--bench-gate={gate}" for gate in lines(environ, "GATE_GATES")]
    if shard := one_line(environ, "GATE_SHARD"):
        found.append(f"--bench-shard={shard}")
    if baseline := baseline_folder(environ, folder):
        found.append(f"--bench-baseline={baseline}")
    if (folder / "data").is_dir():
        found.append(f"--bench-data={folder / 'data'}")
    if replay:
        found += ["--bench-replay", "--bench-store=none"]
    else:
        found.append(f"--bench-store={folder / 'new'}")
        if age := one_line(environ, "GATE_MAX_AGE"):
            found.append(f"--bench-max-age={age}")
    given = folder / "given" / "answers"
    if replay or any(given.rglob("*.jsonl")):
        found.append(f"--bench-store-readonly={given}")
    found += [f"--bench-results={folder / 'run'}", "--tb=no"]
    return found + lines(environ, "GATE_ARGUMENTS")


MERGED_TOO = {
    "--bench-gate-point": "--bench-gate-point",
    "--bench-allow-unlike": "--allow-unlike",
    "--bench-no-page": "--no-page",
}
"""Arguments of pytest that mean something to the job that merges, and how it is told."""


def merge_command(environ: Mapping[str, str], folder: Path) -> list[str]:
    """Return the command line that merges the parts; their gates are those that they were given."""
    program = "import sys; from pytest_tablebench.cli import main; sys.exit(main())"
    found = [environ["GATE_PYTHON"], "-P", "-c", program, "merge", str(folder / "given" / "parts")]
    found += ["--out", str(folder / "run")]
    if baseline := baseline_folder(environ, folder):
        found.append(f"--bench-baseline={baseline}")
    given = lines(environ, "GATE_ARGUMENTS")
    return found + [own for name, own in MERGED_TOO.items() if name in given]


def baseline_folder(environ: Mapping[str, str], folder: Path) -> Path | None:
    """Return the run folder to compare with, from the checkout or from the artifact."""
    if named := one_line(environ, "GATE_BASELINE"):
        return Path(environ.get("GITHUB_WORKSPACE") or ".").resolve() / named
    if one_line(environ, "GATE_BASELINE_ARTIFACT"):
        return folder / "given" / "baseline"
    return None


def measured(environ: Mapping[str, str], arguments: list[str], where: Path) -> int:
    """Run pytest and return its exit code.

    A reply may contain lines that GitHub takes as commands of the job, so they are switched off
    for as long as the output is the model's. See "Stopping and starting workflow commands" in
    GitHub's documentation.
    """
    kept = {
        name: value
        for name, value in environ.items()
        if name not in RUNNER_FILES and not name.startswith(("GATE_", "ACTIONS_"))
    }
    if (name := environ.get("GATE_API_KEY_NAME")) and (key := environ.get("GATE_API_KEY")):
        kept[name] = key
    token = secrets.token_hex(16)
    write(f"::stop-commands::{token}\n")
    try:
        # No shell, and the arguments come from whoever wrote the workflow.
        return subprocess.run(arguments, cwd=where, env=kept, check=False).returncode  # noqa: S603
    finally:
        write(f"\n::{token}::\n")


def keep_answers(folder: Path) -> None:
    """Put the answers given and the new ones into one store, which becomes the artifact."""
    kept = folder / "answers"
    kept.mkdir(parents=True, exist_ok=True)
    for source in (folder / "given" / "answers", folder / "new"):
        for path in sorted(source.rglob("*.jsonl")):
            # Names of segments are drawn at random: the same name is the same file.
            if path.is_file() and not path.is_symlink():
                shutil.copyfile(path, kept / path.name)


def gates_judged(path: Path) -> list[dict[str, Any]]:
    """Return the gates that a run folder has a verdict on, as its `run.json` holds them."""
    try:
        facts = json.loads((path / "run.json").read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return []
    gates = facts.get("gates") if isinstance(facts, dict) else None
    return [gate for gate in gates if isinstance(gate, dict)] if isinstance(gates, list) else []


def unmeasured(judged: list[dict[str, Any]]) -> list[str]:
    """Return the gates on scores that nothing was measured for: no case, or none answered."""
    return [
        str(gate.get("gate"))
        for gate in judged
        if gate.get("estimate") is None
        and not str(gate.get("gate")).startswith("run.")
        and (not gate.get("n_left_out") or gate.get("no_answer") == 1)
    ]


def call(environ: Mapping[str, str], arguments: list[str]) -> None:
    """Run a program that has to succeed, without the inputs in its environment."""
    kept = {name: value for name, value in environ.items() if not name.startswith("GATE_")}
    code = subprocess.run(arguments, env=kept, check=False).returncode  # noqa: S603 (no shell)
    if code:
        raise GateError(f"{Path(arguments[0]).name} ended with {code}; the log above says why")


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
