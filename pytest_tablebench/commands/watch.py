"""`tablebench watch`: has the model changed."""

from __future__ import annotations

import argparse
import re
import subprocess
import sys
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_tablebench.errors import DataError, SettingsError, writing
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import printable

if TYPE_CHECKING:
    from pytest_tablebench.results.drift import History, HistoryEntry

STORE = "store"
"""The answers of all looks, in the folder of the watch."""

_WITHOUT = ("bench_gate", "bench_stop_when_decided", "bench_baseline")
"""Settings of the project that do not concern a look."""


def add_parser(commands: Any) -> None:
    """Add the command to the `tablebench` parser."""
    parser = commands.add_parser(
        "watch",
        help="find out whether a model has changed, from one look a day",
        description="Ask a small, fixed sample of the project's questions (the canary) again, and "
        "compare the answers with a reference by a test that stays valid if you look "
        "every day. The first use makes the reference. Without --yes, only show the plan. Exit "
        "code: 0 no drift, 10 drift found, 11 this look cannot tell.",
    )
    parser.add_argument(
        "--history",
        type=Path,
        default=Path("watch.jsonl"),
        metavar="FILE",
        help="the reference and one line per look. Default: watch.jsonl",
    )
    parser.add_argument("--model", metavar="NAME", help="model. Default: the project's")
    parser.add_argument(
        "--canary", type=int, default=60, metavar="N", help="examples of each dataset. Default: 60"
    )
    parser.add_argument(
        "--repeats",
        type=int,
        default=10,
        metavar="N",
        help="how often the reference asks each case, to measure noise. Default: 10",
    )
    parser.add_argument(
        "--reference",
        type=Path,
        metavar="RUN",
        help="take a run folder with repeats as the reference; nothing is asked",
    )
    parser.add_argument(
        "--new-reference", action="store_true", help="make a new reference; earlier lines stay"
    )
    parser.add_argument(
        "--name", metavar="NAME", help="name of the project. Default: that of this folder"
    )
    parser.add_argument(
        "--folder",
        type=Path,
        default=Path("tablebench-watch"),
        metavar="DIR",
        help="run folders and answers of the looks. Default: tablebench-watch",
    )
    parser.add_argument("--page", type=Path, metavar="FILE", help="write a page with a chart")
    parser.add_argument("--issue", type=Path, metavar="FILE", help="write Markdown for an issue")
    parser.add_argument("--show", action="store_true", help="only judge the history; ask nothing")
    parser.add_argument("--yes", action="store_true", help="ask the model, and pay for it")
    parser.add_argument(
        "pytest_arguments",
        nargs="*",
        metavar="-- PYTEST_ARGUMENT",
        help="further arguments of pytest, such as -- --bench-dataset=wikitq",
    )
    parser.set_defaults(lines=_watch)


def _watch(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.reports.watch_text import watch_lines, watch_markdown
    from pytest_tablebench.results.drift import judge_watch, read_history

    if options.canary < 1 or options.repeats < 2:
        raise SettingsError("--canary must be at least 1, and --repeats at least 2")
    project = options.name or Path.cwd().name
    history = read_history(options.history)
    history.check(project)
    if not options.show:
        makes_reference = history.reference is None or options.new_reference
        if options.reference is not None and not makes_reference:
            raise SettingsError(
                f"{options.history} has a reference already; add --new-reference to replace it"
            )
        if options.reference is None and not options.yes:
            return _plan(options, is_reference=makes_reference), 0
        entry = _entry(options, project, None if makes_reference else history)
        history = history.with_entry(entry)
    verdict = judge_watch(history)
    lines = watch_lines(verdict)
    if options.page is not None:
        from pytest_tablebench.reports.html.watch import write_watch_page

        write_watch_page(options.page, verdict)
        lines.append(f"page: {printable(str(options.page))}")
    if options.issue is not None:
        with writing(f"--issue: cannot write {options.issue}"):
            write_whole(options.issue, watch_markdown(verdict))
        lines.append(f"issue: {printable(str(options.issue))}")
    return lines, verdict.exit_code


def _entry(options: argparse.Namespace, project: str, history: History | None) -> HistoryEntry:
    """Ask the canary, and return the new entry; without a history it is a reference."""
    from pytest_tablebench.results.drift import look_entry, reference_entry
    from pytest_tablebench.results.loaded_run import load_run
    from pytest_tablebench.store.versions import fingerprints

    now = datetime.now(UTC).isoformat(timespec="seconds")
    kind = "look" if history else "reference"
    identity = f"{kind}-{re.sub(r'[^0-9]', '', now)[:14]}"
    facts: dict[str, Any] = {"id": identity, "time": now, "project": project}
    if options.reference is not None:
        loaded = load_run(options.reference)
    else:
        folder = options.folder / identity
        output, _ = _run(options, identity, is_reference=history is None)
        try:
            loaded = load_run(folder)
        except SettingsError:
            raise _no_run(output) from None
        store = options.folder / STORE
        if store.is_dir():
            facts["fingerprints"] = dict(fingerprints(store, identity))
    if history is None or history.reference is None:
        return reference_entry(loaded.run, loaded.records, **facts)
    return look_entry(loaded.run, loaded.records, history.reference, **facts)


def _plan(options: argparse.Namespace, *, is_reference: bool) -> list[str]:
    """Return the plan of the next look or reference."""
    output, code = _run(options, "plan", is_reference=is_reference, plans=True)
    if code:
        raise _no_run(output)
    lines = [line for line in output.split("\n") if line.strip()]
    kind = "the reference" if is_reference else "one look"
    return [f"plan of {kind}:", *map(printable, lines), "nothing was asked; add --yes to ask"]


def _run(
    options: argparse.Namespace, identity: str, *, is_reference: bool, plans: bool = False
) -> tuple[str, int]:
    """Run pytest with the project's configuration; return its output and its exit code."""
    command = [
        *(sys.executable, "-m", "pytest", "-q", "--bench-show=0", "--bench-no-page"),
        *(part for name in _WITHOUT for part in ("-o", f"{name}=")),
        f"--bench-sample={options.canary}",
        "--bench-configs-per-example=1",
        f"--bench-repeats={options.repeats if is_reference else 1}",
        f"--bench-fresh={identity}",
        f"--bench-store={options.folder / STORE}",
        *(["--bench-plan"] if plans else [f"--bench-results={options.folder / identity}"]),
        *([f"--bench-model={options.model}"] if options.model else []),
        *options.pytest_arguments,
    ]
    ran = subprocess.run(  # noqa: S603 - a list of arguments, never a shell
        command,
        check=False,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
    )
    return ran.stdout.decode("utf-8", "replace"), ran.returncode


def _no_run(output: str) -> DataError:
    """Return the error with the last lines of pytest's output, or its line about an error."""
    lines = [line for line in output.split("\n") if line.strip()]
    lines = [line for line in lines if line.startswith("ERROR")] or lines[-3:]
    return DataError(f"pytest made no run: {printable(' '.join(lines), 600)}")
