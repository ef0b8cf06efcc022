"""Killed processes and full disks: no stored answer is paid for again.

Each test runs again with the same store and the same server, which counts repeated requests. The
server holds answers back, so that each process is killed at a known moment. TABLEBENCH_FULL=1 kills
every process at every moment.
"""

from __future__ import annotations

import os
import shutil
import subprocess
from collections import Counter
from collections.abc import Iterator
from itertools import product
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.results import read_facts, read_records
from tests.support.faults import Held, comparable, engine_processes, held_run, kill, stored
from tests.support.matrix import reduced
from tests.support.openai_server import OpenAIServer
from tests.support.runs import MODEL, Process, Run, Script, run_pytest, until

psutil = pytest.importorskip("psutil")

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(os.name != "posix", reason="needs POSIX signals to a process"),
]

COUNT, CONNECTIONS = 12, 4

MOMENTS = {"start": 0, "half": COUNT // 2, "last": COUNT - CONNECTIONS}
"""Number of stored answers when a process is killed.

At the `last` moment all other answers arrive while pytest is suspended: they are stored and not
recorded.
"""

EVERY = [
    (victim, moment, workers)
    for victim, moment, workers in product(
        ["worker", "pytest", "broker", "caller", "all"], MOMENTS, ["0", "2"]
    )
    if (victim, workers) != ("worker", "0") and (victim, moment) != ("caller", "last")
]
SOME = [
    ("all", "half", "0"),
    ("pytest", "last", "2"),
    ("worker", "half", "2"),
    ("broker", "half", "0"),
]


@pytest.fixture(scope="module")
def undisturbed(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """The records of a run without a fault."""
    with OpenAIServer(Script(COUNT)) as server:
        run = run_pytest(tmp_path_factory.mktemp("undisturbed"), server, count=COUNT)
    assert run.exit_code == 0, run.output
    return comparable(run.records)


@pytest.fixture
def temporary(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Give the processes of a test an empty folder for temporary files."""
    (tmp_path / "temporary").mkdir()
    monkeypatch.setenv("TMPDIR", str(tmp_path / "temporary"))


def run_again(
    folder: Path, server: OpenAIServer, held: Held, undisturbed: dict[str, Any], *arguments: str
) -> Run:
    """Run again with the store; check that no stored answer is requested and no record missing."""
    stored_ids, before = stored(folder / "answers"), dict(held.asked)
    run = run_pytest(
        folder / "again",
        server,
        *(f"--bench-store={folder / 'answers'}", *arguments),
        count=COUNT,
    )
    assert run.exit_code == 0, run.output
    for number, example in enumerate(held.script.examples):
        assert held.asked[number] - before[number] == (example.id not in stored_ids), example.id
        assert run.by_number[example.id].from_store == (example.id in stored_ids)
    assert run.facts["calls_paid"] == COUNT - len(stored_ids)
    assert comparable(run.records) == undisturbed
    return run


def suspend_pytest(process: Process) -> list[Any]:
    """Stop every process of pytest, but not those that make the calls."""
    engine = {running.pid for running in engine_processes(process)}
    main = psutil.Process(process.popen.pid)
    processes = [
        running for running in (main, *main.children(recursive=True)) if running.pid not in engine
    ]
    for suspended in processes:
        suspended.suspend()
    until(
        lambda: all(suspended.status() == psutil.STATUS_STOPPED for suspended in processes),
        "all processes suspended",
    )
    return processes


@pytest.mark.usefixtures("temporary")
@pytest.mark.parametrize(("victim", "moment", "workers"), reduced(EVERY, *SOME))
def test_after_a_kill_no_stored_answer_is_paid_for_again(
    tmp_path: Path, undisturbed: dict[str, Any], victim: str, moment: str, workers: str
) -> None:
    held = Held(COUNT, MOMENTS[moment])
    everything = {example.id for example in held.script.examples}
    options = ["-n", workers, "--bench-retries=3"]
    if victim in {"worker", "caller"}:
        options += ["--bench-gate=starter.pass_rate >= 0.01", "--bench-gate-point"]
    with held_run(tmp_path, *options, held=held, connections=CONNECTIONS) as (process, server):
        in_flight = {held.script.examples[number].id for number in held.held}
        expected = held.answered
        if moment == "last":
            processes = suspend_pytest(process)
            held.opened.set()
            until(lambda: stored(tmp_path / "answers") == everything, "all answers stored")
            left = kill(process, victim)
            expected = everything
            for suspended in processes:
                if suspended.is_running() and victim != "all":
                    suspended.resume()
            assert len(process.lines) < COUNT
        else:
            left = kill(process, victim)
        assert stored(tmp_path / "answers") == expected
        lines = process.lines
        held.opened.set()
        if victim in {"worker", "caller"}:
            check_finished(process, victim, moment)
            assert process.lines[: len(lines)] == lines
            left_files = [path.name for path in (tmp_path / "temporary").iterdir()]
            assert not [name for name in left_files if "tablebench" in name]
            expected = everything
        else:
            if victim == "broker":
                # The last answers may have reached the workers before the broker died.
                ended = {2} if moment != "last" else {0, 2}
                assert process.wait().exit_code in ended, process.output
            # The callers finish the calls in flight, which are paid for.
            assert not psutil.wait_procs(left, timeout=60)[1]
            if victim in {"pytest", "all"}:
                check_kept(process, lines)
            expected = expected if victim == "all" else expected | in_flight
        assert stored(tmp_path / "answers") == expected
        if victim not in {"caller", "all"}:
            assert max(held.asked.values()) == 1
        run_again(tmp_path, server, held, undisturbed)
        # At most twice, and only requests whose caller was killed.
        again = {held.script.examples[n].id for n, count in held.asked.items() if count > 1}
        assert again <= (in_flight if victim in {"caller", "all"} else set())


def check_kept(process: Process, lines: list[bytes]) -> None:
    """Check that the folder of a killed run can be read and contains the finished records only."""
    folder = process.folder / "run"
    assert process.lines == lines
    records = list(read_records(folder))
    assert [(record.outcome, bool(record.raw)) for record in records] == [("right", True)] * len(
        lines
    )
    facts = read_facts(folder).entries
    assert (facts["status"], facts["model"], facts["end"]) == ("running", MODEL, None)
    assert (facts["cases_planned"], facts["cases_recorded"]) == (COUNT, 0)
    assert not (folder / "summary.json").exists()


def check_finished(process: Process, victim: str, moment: str) -> None:
    """Check that the run finished without the killed process."""
    run = process.wait()
    assert "INTERNALERROR" not in run.output
    assert len(run.records) == COUNT, run.output
    outcomes = Counter(record.reason or record.outcome for record in run.records.values())
    facts = run.facts
    # A case without an answer, because its worker died, sets exit code 1 though the gate holds.
    code = 1 if victim == "worker" else 0
    assert (run.exit_code, facts["exit_code"], facts["status"]) == (code, code, "complete")
    assert [gate["state"] for gate in facts["gates"]] == ["holds"]
    assert (facts["cases_planned"], facts["cases_recorded"]) == (COUNT, COUNT)
    if victim == "caller":
        assert outcomes == {"right": COUNT}
        return
    # The case that the worker was running or about to start has no answer.
    assert "replacing crashed worker" in run.output or moment == "last"
    assert outcomes in ({"right": COUNT - 1, "worker_died": 1}, {"right": COUNT})
    lost = [record for record in run.records.values() if record.reason == "worker_died"]
    assert all((record.outcome, record.raw) == ("no_answer", None) for record in lost)


# Full disks.


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of one page, with space for a few answers."""
    mount, umount = shutil.which("mount"), shutil.which("umount")
    if mount is None or umount is None or not hasattr(os, "geteuid") or os.geteuid() != 0:
        pytest.skip("mounting a small file system takes root")
    disk = tmp_path / "disk"
    disk.mkdir()
    command = [mount, "-t", "tmpfs", "-o", "size=4k", "tmpfs", str(disk)]
    if subprocess.run(command, capture_output=True, check=False).returncode != 0:
        pytest.skip("a small file system cannot be mounted here")
    yield disk
    subprocess.run([umount, "-l", str(disk)], check=True)


def test_after_a_full_disk_no_stored_answer_is_paid_for_again(
    tmp_path: Path, small_disk: Path, undisturbed: dict[str, Any]
) -> None:
    held = Held(COUNT, COUNT)
    store = (f"--bench-store={small_disk / 'answers'}",)
    options = ("--bench-connections", "1")
    with OpenAIServer(held) as server:
        run = run_pytest(tmp_path / "first", server, *store, *options, count=COUNT)
        assert run.exit_code == 2, run.output
        lines = [line for line in run.output.splitlines() if "answers cannot be kept" in line]
        assert len(lines) == 1, run.output
        assert "No space left on device" in lines[0]
        assert "--bench-store" in lines[0]
        stored_ids = stored(small_disk / "answers")
        assert 0 < len(stored_ids) < COUNT - 1
        # One call was in flight: its answer was used, and no further call was made.
        assert server.calls == len(stored_ids) + 1
        assert {record.outcome for record in run.records.values()} == {"right"}
        assert len(run.records) in {len(stored_ids), len(stored_ids) + 1}
        subprocess.run(["mount", "-o", "remount,size=4m", str(small_disk)], check=True)
        folder = tmp_path / "store"
        folder.mkdir()
        (folder / "answers").symlink_to(small_disk / "answers")
        run_again(folder, server, held, undisturbed)
        assert server.calls == COUNT + 1
