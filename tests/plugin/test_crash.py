"""Runs that are killed, lose a worker or are stopped by Ctrl-C keep their records."""

from __future__ import annotations

import json
import os
import signal
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.results import read_facts, read_records
from tests.support.matrix import reduced
from tests.support.openai_server import Behaviour, OpenAIServer, text
from tests.support.runs import MODEL, Process, Script, right, start_pytest, until
from tests.support.toy_bench import Bench

posix_only = pytest.mark.skipif(
    os.name != "posix", reason="needs POSIX signals to a process and to its group"
)

COUNT = 12


class Patient(threading.Event):
    """An event that waits until the test sets it, longer than the server's time limit."""

    def wait(self, timeout: float | None = None) -> bool:
        return super().wait(120)


class Gate:
    """Answers the first cases of each worker correctly; holds all others until opened.

    Two workers start at the two halves of the cases, and all calls are in flight at once.
    """

    def __init__(self, through: int, workers: int) -> None:
        self.script = Script(COUNT)
        self.opened = Patient()
        self.held: list[int] = []
        starts = range(0, COUNT, COUNT // max(workers, 1))
        share = through // len(starts)
        self._through = {start + n for start in starts for n in range(share)}

    def __call__(self, body: dict[str, Any]) -> Behaviour:
        behaviour = self.script(body)
        question = body["messages"][-1]["content"].rsplit("Question: ", 1)[1].split("\n", 1)[0]
        example = next(e for e in self.script.examples if e.question == question)
        number = self.script.examples.index(example)
        if number in self._through or self.opened.is_set():
            return behaviour
        self.held.append(number)
        return text(right(example), after=self.opened)


@contextmanager
def held_run(folder: Path, *, through: int, workers: int) -> Iterator[tuple[Process, Gate]]:
    """Start a run; yield when `through` cases are recorded and all other calls wait."""
    gate = Gate(through, workers)
    with (
        OpenAIServer(gate) as server,
        start_pytest(
            folder,
            "-n",
            str(workers),
            f"--bench-connections={COUNT}",
            api_base=server.url,
            count=COUNT,
        ) as process,
    ):
        try:
            until(
                lambda: len(gate.held) == COUNT - through == COUNT - len(process.lines),
                f"{through} records and the next calls held",
            )
            yield process, gate
        finally:
            gate.opened.set()


def check_kept(process: Process, gate: Gate, through: int) -> None:
    """Check that the run folder can be read and contains every finished record."""
    folder = process.folder / "run"
    assert len((folder / "records.jsonl").read_bytes().split(b"\n")) == through + 1
    records = list(read_records(folder))
    held = {gate.script.examples[number].id for number in gate.held}
    assert len({record.example_id for record in records} - held) == through
    assert {record.outcome for record in records} == {"right"}
    assert all(record.raw for record in records)
    run = read_facts(folder).entries
    assert (run["status"], run["model"]) == ("running", MODEL)
    assert run["end"] is None


@posix_only
def test_a_killed_controller_keeps_every_finished_record(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    with held_run(tmp_path, through=6, workers=2) as (process, gate):
        workers = psutil.Process(process.popen.pid).children(recursive=True)
        assert len(workers) >= 4  # with the processes that make the calls
        process.kill()
        check_kept(process, gate, 6)
        assert not (tmp_path / "run" / "summary.json").exists()
        gate.opened.set()
        # Without a controller the workers end and write nothing more.
        _, alive = psutil.wait_procs(workers, timeout=60)
        assert not alive
        check_kept(process, gate, 6)


@posix_only
def test_a_killed_worker_loses_only_its_own_case(tmp_path: Path) -> None:
    psutil = pytest.importorskip("psutil")
    with held_run(tmp_path, through=4, workers=2) as (process, gate):
        children = psutil.Process(process.popen.pid).children()
        victim, _ = [child for child in children if "-c" in child.cmdline()]  # the two workers
        before = process.lines
        victim.kill()
        # Before it is noticed, xdist may end with an internal error, because it writes to the dead.
        process.until(lambda: "replacing crashed worker" in process.output, "a new worker")
        gate.opened.set()
        run = process.wait()
    assert run.exit_code == 1, run.output
    # Only the case that the worker was running has no answer.
    assert set(run.by_number) == {example.id for example in gate.script.examples}
    [lost] = [record for record in run.records.values() if record.outcome != "right"]
    assert (lost.outcome, lost.reason, lost.raw) == ("no_answer", "worker_died", None)
    assert lost.example_id in {gate.script.examples[number].id for number in gate.held}
    assert process.lines[: len(before)] == before
    facts = run.facts
    assert (facts["status"], facts["exit_code"]) == ("complete", 1)
    assert (facts["cases_planned"], facts["cases_recorded"]) == (COUNT, COUNT)
    assert "INTERNALERROR" not in run.output


DYING = """
ask = Echo.complete


def complete(self, request):
    if "/bo/" in request.case_id:
        import os
        os._exit(7)
    return ask(self, request)


Echo.complete = complete
"""


def test_a_dead_worker_sets_exit_code_one_though_the_gates_hold(
    bench: Bench, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    temporary = tmp_path / "temporary"
    temporary.mkdir()
    monkeypatch.setenv("TMPDIR", str(temporary))
    conftest = bench.path / "conftest.py"
    conftest.write_text(conftest.read_text("utf-8") + DYING, encoding="utf-8")
    bench.suite()
    result = bench.run_apart(
        "--model=echo/any", "-n1", "--bench-gate=toy.pass_rate>=0.01", "--bench-gate-point"
    )
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*worker 'gw0' crashed while running*bo*"])
    outcomes = {record["example_id"]: record["reason"] for record in bench.records()}
    assert outcomes == {"ada": None, "bo": "worker_died", "cy": None}
    assert [gate["state"] for gate in bench.facts()["gates"]] == ["holds"]
    assert not [path for path in temporary.iterdir() if "tablebench" in path.name]


@posix_only
@pytest.mark.parametrize("killed", reduced([False, True], False))
def test_a_run_stopped_before_its_first_record_leaves_a_readable_folder(
    tmp_path: Path, killed: bool
) -> None:
    folder = tmp_path / "run"
    with held_run(tmp_path, through=0, workers=1) as (process, _):
        process.until((folder / "run.json").exists, "a run folder")
        if killed:
            process.kill()
        else:
            process.signal_group(signal.SIGINT)
            run = process.wait()
            assert run.exit_code == 2, run.output
            assert "INTERNALERROR" not in run.output
    facts = read_facts(folder).entries
    assert facts["status"] == ("running" if killed else "incomplete")
    assert (facts["cases_planned"], facts["cases_recorded"]) == (COUNT, 0)
    assert list(read_records(folder)) == []


@posix_only
@pytest.mark.parametrize("workers", reduced([0, 2], 2))
def test_ctrl_c_keeps_and_shows_the_finished_cases(tmp_path: Path, workers: int) -> None:
    with held_run(tmp_path, through=6, workers=workers) as (process, _):
        process.signal_group(signal.SIGINT)
        run = process.wait()
    assert run.exit_code == 2, run.output
    assert len(run.records) == 6
    assert {record.outcome for record in run.records.values()} == {"right"}
    facts = run.facts
    assert (facts["status"], facts["exit_code"]) == ("incomplete", 2)
    assert (facts["cases_planned"], facts["cases_recorded"]) == (COUNT, 6)
    summary = json.loads((tmp_path / "run" / "summary.json").read_text(encoding="utf-8"))
    assert summary["benchmarks"]["starter"]["n_cases"] == 6
    assert summary["benchmarks"]["starter"]["pass_rate"] == 1
    # The closing table contains the six cases.
    [row] = [line for line in run.output.splitlines() if line.startswith("starter  ")]
    assert row.split()[-2:] == ["6", "6"]
    assert "run folder: run" in run.output
    assert "KeyboardInterrupt" in run.output
    assert "INTERNALERROR" not in run.output
