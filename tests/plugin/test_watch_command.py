"""`tablebench watch` over a scripted server: reference, looks, plan, and bad input."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import threading
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tablebench.cli import main
from pytest_tablebench.results import read_records
from tests.support.batch_server import BatchServer
from tests.support.openai_server import Behaviour, OpenAIServer, error, text
from tests.support.runs import SUITE

OPTIONS = (
    *("watch", "--model", "plain/test-model", "--canary", "12", "--repeats", "2", "--"),
    *("-p", "tests.support.plain_model", "--bench-retries=0"),
)


@pytest.fixture
def server(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[OpenAIServer]:
    """A server, and a project in the current folder."""
    (tmp_path / "pytest.ini").write_text(
        "[pytest]\nbench_dataset = starter\nbench_serializer = csv\nbench_perturbation = none\n"
        "bench_gate = starter.performance >= 0.9\n",
        encoding="utf-8",
    )
    (tmp_path / "test_tables.py").write_text(SUITE, encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(Path(__file__).resolve().parents[2]))
    with OpenAIServer(lambda _: text("42")) as server:
        yield server


def watch(server: OpenAIServer, *options: str) -> int:
    command, *rest = OPTIONS
    return main([command, *options, *rest, f"--bench-api-base={server.url}"])


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--canary", "5"), "the canary has 5 questions, and a watch needs 10"),
        (("--repeats", "1"), "--repeats at least 2"),
        (("--show",), "has no reference yet"),
    ],
)
def test_options_that_cannot_be_asks_nothing(
    server: OpenAIServer,
    tmp_path: Path,
    capsys: pytest.CaptureFixture[str],
    options: tuple[str, ...],
    message: str,
) -> None:
    words = [*OPTIONS[: OPTIONS.index("--")], "--yes", *options]
    words += [*OPTIONS[OPTIONS.index("--") :], f"--bench-api-base={server.url}"]
    assert main(words) == 2
    assert message in capsys.readouterr().err
    assert server.calls == 0
    assert not (tmp_path / "watch.jsonl").exists()


def test_a_project_that_cannot_run_is_named(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "test_tables.py").write_text("import nothing_like_it\n", encoding="utf-8")
    assert watch(server) == 2
    assert "ERROR test_tables.py" in capsys.readouterr().err


def test_a_reference_and_its_looks(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert watch(server) == 0
    plan = capsys.readouterr().out
    assert plan.startswith("plan of the reference:\n")
    assert any(line.split()[:2] == ["plain/test-model", "24"] for line in plan.splitlines())
    assert server.calls == 0
    assert not (tmp_path / "watch.jsonl").exists()

    assert watch(server, "--yes") == 0
    assert server.calls == 24
    assert "12 cases" in capsys.readouterr().out

    assert watch(server, "--yes", "--page", "page.html", "--issue", "issue.md") == 0
    assert server.calls == 36, "a look asks anew"
    output = capsys.readouterr().out
    assert "no drift (1 look;" in output
    assert "answers: 0 of 12 answers of this look not in the reference" in output
    assert (tmp_path / "page.html").exists()
    assert "no drift" in (tmp_path / "issue.md").read_text(encoding="utf-8")

    server.always(error(500))
    assert watch(server, "--yes") == 11
    assert "the last look does not count: 12 of 12 cases have no answer" in capsys.readouterr().out
    lines = (tmp_path / "watch.jsonl").read_text(encoding="utf-8").splitlines()
    assert [json.loads(line)["kind"] for line in lines] == ["reference", "look", "look"]

    assert main(["watch", "--show", "--name", "other"]) == 2
    assert "is the history of the project" in capsys.readouterr().err
    [run] = (tmp_path / "tablebench-watch").glob("reference-*")
    assert {record.repeat for record in read_records(run)} == {1, 2}
    assert main(["watch", "--reference", str(run)]) == 2
    assert "has a reference already" in capsys.readouterr().err
    assert main(["watch", "--reference", str(run), "--new-reference"]) == 0


def test_no_reference_and_no_key(
    server: OpenAIServer, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    server.always(error(401))
    assert watch(server, "--yes") == 2
    message = capsys.readouterr().err
    assert "no reference: only 0 of 12 cases answered by every repeat (auth)" in message
    assert not (tmp_path / "watch.jsonl").exists()


@pytest.mark.parametrize(
    "argument",
    ["--bench-model=other", "--collect-only", "--bench-fresh=x", "--bench-repeats=3"],
)
def test_arguments_that_a_watch_sets_are_refused(
    server: OpenAIServer, capsys: pytest.CaptureFixture[str], argument: str
) -> None:
    assert watch(server, "--yes", "--", argument) == 2
    name = argument.partition("=")[0]
    assert f"{argument}: `watch` sets {name} itself" in capsys.readouterr().err
    assert server.calls == 0


def test_an_interrupted_reference_continues_without_paying_again(
    server: OpenAIServer, tmp_path: Path
) -> None:
    """A killed run: at most the calls in flight are made again."""
    flight, planned, limit = 2, 24, 8
    reached = threading.Event()

    def reply(_: object) -> Behaviour:
        if server.calls >= limit:
            reached.set()
        return text("42")

    server.decide = reply
    command, *rest = OPTIONS
    words = [command, "--yes", *rest, f"--bench-api-base={server.url}"]
    words.append(f"--bench-connections={flight}")
    start = "import sys; from pytest_tablebench.cli import main; sys.exit(main(sys.argv[1:]))"
    process = subprocess.Popen([sys.executable, "-c", start, *words], start_new_session=True)
    assert reached.wait(60)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    assert main(words) == 0
    assert planned <= server.calls <= planned + flight
    assert (tmp_path / "watch.jsonl").exists()
    assert list((tmp_path / "tablebench-watch").glob("*.json")) == []


def test_batches_are_collected_by_the_same_command(
    server: OpenAIServer, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    del server  # only its project is needed
    monkeypatch.setenv("OPENAI_API_KEY", "sk-of-the-test")
    with BatchServer(lambda _: "42") as batches:
        words = [
            *("watch", "--yes", "--model", "openai/gpt-4o-mini", "--canary", "12"),
            *("--repeats", "2", "--", "--bench-executor=batch"),
            f"--bench-api-base={batches.url}",
        ]
        assert main(words) == 12
        assert not (tmp_path / "watch.jsonl").exists()
        batches.finish()
        assert main(words) == 0
        assert len(batches.asked) == 24
    assert (tmp_path / "watch.jsonl").exists()
