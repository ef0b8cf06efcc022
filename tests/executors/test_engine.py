"""The engine of a run: the modules of its processes, and errors of their start."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.executors.local import BrokerProcess, Engine, Lane, LocalExecutor
from pytest_tablebench.executors.local._engine import callers_of

MODEL = "gpt-4o"


@contextlib.contextmanager
def engine(
    store: Path, model: str = MODEL, started: BrokerProcess | None = None
) -> Iterator[Engine]:
    lanes = [Lane(model, "http://127.0.0.1:9/v1", "p")]
    made = Engine(Settings(connections=4, retries=0, store=store), lanes, started=started)
    try:
        yield made
    finally:
        made.finish()
        made.reap()


def test_modules_in_the_working_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    # Names of the standard library and of litellm that a user may use for other modules.
    for name in ("calendar", "openai", "secrets", "asyncio", "pytest_tablebench"):
        (tmp_path / f"{name}.py").write_text("raise RuntimeError('not meant')\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    psutil = pytest.importorskip("psutil")
    # Started early, before the run is known: its caller makes the calls.
    ahead = BrokerProcess.ahead()
    with engine(tmp_path / "answers", started=ahead) as running:
        client = LocalExecutor(running.address, "runner")
        question = {"model": MODEL, "api_base": None, "params": {"temperature": 0}, "key": "k"}
        facts = client.question("facts", question)
        client.close()
        assert len(psutil.Process(ahead.process.pid).children()) == 1
    assert facts["provider"] == "openai"
    assert facts["sent"] == {"temperature": 0}


def test_a_question_that_fails_ends_with_an_error(tmp_path: Path) -> None:
    with engine(tmp_path / "answers") as running:
        client = LocalExecutor(running.address, "runner")
        with pytest.raises(ModelError, match="the facts about a model: KeyError"):
            client.question("facts", {"model": MODEL})
        facts = client.question(
            "facts", {"model": MODEL, "api_base": None, "params": {}, "key": "k"}
        )
        client.close()
    assert facts["provider"] == "openai"


def test_a_broker_started_early_ends_without_a_run() -> None:
    psutil = pytest.importorskip("psutil")
    ahead = BrokerProcess.ahead()
    broker = psutil.Process(ahead.process.pid)
    while not (started := broker.children()):
        assert ahead.process.poll() is None
    ahead.hang_up()
    ahead.reap()
    assert ahead.process.returncode == 0
    assert not any(process.is_running() for process in started)


def test_the_reason_of_a_failed_start_is_raised_each_time(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way", encoding="utf-8")
    with engine(tmp_path / "file") as failed:
        for _ in range(2):
            with pytest.raises(SettingsError, match=r"did not start: --bench-store: cannot write"):
                _ = failed.executor


def test_a_broker_that_ends_before_reading_is_reported_with_its_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_tablebench.executors.local._engine.BROKER", "there.is.none")
    # More than the pipe's buffer: the process ends during the write.
    with (
        engine(tmp_path / "answers", "m" * 5_000_000) as failed,
        pytest.raises(SettingsError, match=r"did not start: .*No module named 'there'"),
    ):
        _ = failed.address


@pytest.mark.parametrize(
    ("settings", "needs_litellm", "reference", "callers"),
    [
        (Settings(), False, None, 1),
        (Settings(), True, None, "by need"),
        (Settings(callers=3), True, None, 3),
        (Settings(executor="dask"), False, None, "by need"),
        (Settings(), False, {"module": "m"}, "by need"),
    ],
)
def test_the_number_of_callers_depends_on_settings_and_models(
    monkeypatch: pytest.MonkeyPatch,
    settings: Settings,
    needs_litellm: bool,
    reference: dict[str, str] | None,
    callers: object,
) -> None:
    monkeypatch.setattr(
        "pytest_tablebench.executors.local._engine.caller_count", lambda _: "by need"
    )
    lane = Lane("m", None, "p", reference)
    assert callers_of(settings, [lane], needs_litellm=needs_litellm) == callers
    assert callers_of(settings, [], needs_litellm=needs_litellm) == 0
