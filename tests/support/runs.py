"""Run pytest in a separate process, with the embedded dataset and a scripted server."""

from __future__ import annotations

import io
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import redirect_stderr, redirect_stdout
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from _pytest.pytester import SysModulesSnapshot, SysPathsSnapshot

from pytest_tablebench.datasets import Example
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.results import Record, read_facts, read_records
from tests.support.matrix import FULL
from tests.support.openai_server import Behaviour, OpenAIServer, error, text

KEY = "sk-marked-5e1f0c77a2d94b36"
"""The API key of every run, which must never appear in its output."""

LITELLM = "openai/test-model"
MODEL = LITELLM if FULL else "plain/test-model"
"""The default model of tests that do not depend on litellm, whose import takes most of a short run.

See `tests/support/plain_model.py`.
"""

ROOT = Path(__file__).resolve().parents[2]

SUITE = """
import pytest

from pytest_tablebench.running.assertions import assert_exact_match


@pytest.mark.tablebench("starter")
def test_starter(case, answer):
    assert_exact_match(case, answer)
"""


def examples(count: int) -> list[Example]:
    """Return the first examples of the embedded dataset, those that a run with this limit has."""
    source = Starter().open(Path())
    first_examples = [source.example(example_id) for example_id in source.example_ids(count)]
    assert len({example.question for example in first_examples}) == count, "questions repeat"
    return first_examples


def right(example: Example) -> str:
    """Return a reply with the right answer to an example."""
    return ", ".join(example.references)


class Script:
    """Treats each question by a plan: one behaviour after the other, the last one repeatedly.

    Questions without a plan get their right answer.
    """

    def __init__(self, count: int, plan: Mapping[int, Sequence[Behaviour]] | None = None) -> None:
        self.examples = examples(count)
        self.asked: dict[int, int] = dict.fromkeys(range(count), 0)
        self._plan = plan or {}
        self._numbers = {example.question: n for n, example in enumerate(self.examples)}

    def number(self, body: dict[str, Any]) -> int | None:
        """Return the number of the example in a request."""
        prompt = body["messages"][-1]["content"]
        question = prompt.rsplit("Question: ", 1)[1].split("\n", 1)[0]
        return self._numbers.get(question)

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        number = self.number(body)
        if number is None:
            return error(400, f"not planned: {body['messages'][-1]['content'][-200:]}")
        planned = self._plan.get(number) or [text(right(self.examples[number]))]
        self.asked[number] += 1
        return planned[min(self.asked[number], len(planned)) - 1]


@dataclass(frozen=True)
class Run:
    """A finished pytest process."""

    folder: Path
    exit_code: int
    output: str

    @property
    def records(self) -> dict[str, Record]:
        """The written records by case id."""
        return {record.case_id: record for record in read_records(self.folder / "run")}

    @property
    def by_number(self) -> dict[str, Record]:
        """The written records by example id."""
        return {record.example_id: record for record in self.records.values()}

    @property
    def facts(self) -> dict[str, Any]:
        return dict(read_facts(self.folder / "run").entries)


@dataclass
class Process:
    """A running pytest process; leaving the with statement kills it and its child processes."""

    folder: Path
    popen: subprocess.Popen[bytes]
    log: Path
    _ended: bool = field(default=False)

    def __enter__(self) -> Process:
        return self

    def __exit__(self, *_: object) -> None:
        self.signal_group(signal.SIGKILL if os.name == "posix" else signal.SIGTERM)
        self.popen.wait(30)

    def signal_group(self, number: int) -> None:
        """Send a signal to the process and its child processes, as a terminal does."""
        try:
            if os.name == "posix":
                os.killpg(self.popen.pid, number)
            else:
                self.popen.kill()
        except ProcessLookupError:
            pass

    def kill(self) -> None:
        """Kill this one process without clean-up."""
        self.popen.kill()
        self.popen.wait(30)

    def wait(self, seconds: float = 240) -> Run:
        """Wait until it ends by itself."""
        code = self.popen.wait(seconds)
        return Run(self.folder, code, self.output)

    def until(self, reached: Callable[[], bool], what: str, *, seconds: float = 120) -> None:
        """Wait for a condition while it runs; fail with its output if it ends before."""

        def has_ended() -> bool:
            ended = self.popen.poll()  # checked first: it may reach it and end in between
            return reached() or ended is not None

        until(has_ended, what, seconds=seconds)
        assert reached(), f"pytest has ended before {what}:\n{self.output}"

    @property
    def output(self) -> str:
        return self.log.read_text(encoding="utf-8", errors="replace")

    @property
    def lines(self) -> list[bytes]:
        """The complete lines of the record file so far."""
        path = self.folder / "run" / "records.jsonl"
        return path.read_bytes().split(b"\n")[:-1] if path.exists() else []


def environment(key: str | None) -> dict[str, str]:
    """Return this environment without keys, proxies and variables of other pytest runs.

    The plugins that pytest leaves out stay; see `tests/conftest.py`.
    """
    # Compiled modules halve the seconds that importing litellm takes.
    dropped = ("LITELLM_", "PYTEST_", "TABLEBENCH_", "COLUMNS", "PYTHONDONTWRITEBYTECODE")
    clean = {
        name: value
        for name, value in os.environ.items()
        if (name == "PYTEST_ADDOPTS" or not name.startswith(dropped))
        and not name.upper().endswith(("_PROXY", "_API_KEY", "_TOKEN", "_API_BASE"))
    }
    # A wide terminal, so that each reason stays on one line.
    clean |= {"COLUMNS": "1000", "PYTHONUTF8": "1"}
    return clean if key is None else clean | {"OPENAI_API_KEY": key}


def _prepared(
    folder: Path,
    *arguments: str,
    api_base: str | None = None,
    model: str = MODEL,
    count: int = 1,
    suite: str = SUITE,
    page: bool = False,
) -> list[str]:
    """Write a suite; return pytest's arguments for `count` cases, one for each example."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "test_suite.py").write_text(suite, encoding="utf-8")
    (folder / "pytest.ini").write_text("[pytest]\n", encoding="utf-8")
    command = ["-p", "no:cacheprovider", "--model", model]
    command += ["--bench-limit", str(count), "--bench-shots", "0", "--bench-results", "run"]
    command += ["--bench-serializer", "csv", "--bench-perturbation", "none"]
    command += ["--bench-api-base", api_base] if api_base is not None else []
    command += ["--bench-store", "answers"] + ([] if page else ["--bench-no-page"])
    command += ["-p", "tests.support.plain_model"] if model.startswith("plain/") else []
    return [*command, *arguments]


def start_pytest(folder: Path, *arguments: str, key: str | None = KEY, **options: Any) -> Process:
    """Start pytest in a process of its own; the options are those of `_prepared`."""
    command = [sys.executable, "-m", "pytest", *_prepared(folder, *arguments, **options)]
    path = {"PYTHONPATH": str(ROOT)} if "tests.support.plain_model" in command else {}
    log = folder / "output.txt"
    with log.open("wb") as stream:
        popen = subprocess.Popen(
            command,
            cwd=folder,
            env=environment(key) | path,
            stdin=subprocess.DEVNULL,
            stdout=stream,
            stderr=subprocess.STDOUT,
            start_new_session=os.name == "posix",
        )
    return Process(folder, popen, log)


def run_pytest(
    folder: Path, server: OpenAIServer | str | None, *arguments: str, **options: Any
) -> Run:
    """Run pytest in a process of its own, and search its output and files for the key."""
    with start_pytest(folder, *arguments, api_base=_address(server), **options) as process:
        return _without_key(process.wait())


def run_inside(
    folder: Path,
    server: OpenAIServer | str | None,
    *arguments: str,
    key: str | None = KEY,
    **options: Any,
) -> Run:
    """Run pytest in this process, to its end; its calls are made in other processes.

    Not for tests of the process itself, of its path, or of signals. Workers do not see changes of
    the path that the test makes.
    """
    words = _prepared(folder, *arguments, api_base=_address(server), **options)
    output = io.StringIO()
    snapshots = (SysModulesSnapshot(lambda name: not _is_below(name, folder)), SysPathsSnapshot())
    with pytest.MonkeyPatch.context() as patch, redirect_stdout(output), redirect_stderr(output):
        patch.chdir(folder)
        for name in os.environ.keys() - environment(key).keys():
            patch.delenv(name)
        for name, value in environment(key).items():
            patch.setenv(name, value)
        code = int(pytest.main(words))
    for snapshot in snapshots:
        snapshot.restore()
    (folder / "output.txt").write_text(output.getvalue(), "utf-8", "backslashreplace")
    return _without_key(Run(folder, code, output.getvalue()))


def _is_below(name: str, folder: Path) -> bool:
    """Return whether a module is a file of the folder."""
    return str(getattr(sys.modules[name], "__file__", None) or "").startswith(str(folder))


def _address(server: OpenAIServer | str | None) -> str | None:
    return server.url if isinstance(server, OpenAIServer) else server


def _without_key(run: Run) -> Run:
    for path in sorted(run.folder.rglob("*")):
        if path.is_file():
            assert KEY.encode() not in path.read_bytes(), f"the API key is in {path}"
    return run


def until(reached: Callable[[], bool], what: str, *, seconds: float = 60) -> None:
    """Wait for a condition; fail with its description after the time limit."""
    waiting = threading.Event()
    deadline = time.monotonic() + seconds
    while not reached():
        assert time.monotonic() < deadline, f"waited {seconds} s for: {what}"
        waiting.wait(0.02)
