"""`--bench-replay`: answers only from the stores, without key, calls or litellm."""

from __future__ import annotations

import shutil
from pathlib import Path
from typing import Any

import pytest

from tests.support.faults import comparable
from tests.support.openai_server import OpenAIServer
from tests.support.runs import Run, Script, run_inside, run_pytest
from tests.support.toy_bench import Bench

ALONE = """
import sys


def refuse(event, args):
    if event in ("subprocess.Popen", "socket.connect", "os.fork", "os.posix_spawn"):
        raise RuntimeError(f"this run starts no process: {event} {args}")


sys.addaudithook(refuse)
"""


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    return {
        str(path.relative_to(folder)): (path.stat().st_mtime_ns, path.read_bytes())
        for path in folder.rglob("*")
        if path.is_file()
    }


def replay(
    folder: Path,
    url: str,
    store: Path,
    *arguments: str,
    count: int,
    conftest: str = ALONE,
    **options: Any,
) -> Run:
    """Replay in a folder where litellm cannot be imported and no process be started."""
    folder.mkdir()
    (folder / "litellm.py").write_text("raise ImportError('not here')", encoding="utf-8")
    (folder / "conftest.py").write_text(conftest, encoding="utf-8")
    return run_pytest(
        folder,
        url,
        *("--bench-replay", "--bench-store=none", f"--bench-store-readonly={store}"),
        *arguments,
        count=count,
        key=None,
        **options,
    )


def test_a_replay_needs_no_server_no_key_and_no_process(tmp_path: Path) -> None:
    count = 5
    with OpenAIServer(Script(count)) as server:
        first = run_inside(tmp_path / "first", server, count=count)
        assert first.exit_code == 0, first.output
        url = server.url
    # The server has ended.
    layer = tmp_path / "layer"
    shutil.copytree(tmp_path / "first" / "answers", layer)
    for path in (*layer.rglob("*"), layer):
        path.chmod(0o555 if path.is_dir() else 0o444)
    before = tree(layer)
    again = replay(tmp_path / "again", url, layer, count=count)
    assert again.exit_code == 0, again.output
    assert comparable(again.records) == comparable(first.records)
    assert all(record.from_store for record in again.records.values())
    assert (again.facts["calls_paid"], again.facts["store_hits"]) == (0, count)
    assert again.facts["cost_usd"] is None
    # With another parameter no case has an answer, and the reason is shown.
    other = replay(tmp_path / "other", url, layer, "--bench-param", "temperature=0.5", count=count)
    assert other.exit_code == 1, other.output
    assert {r.reason for r in other.records.values()} == {"not_stored"}
    lines = [line for line in other.output.splitlines() if "not in the answer store" in line]
    assert any("params.temperature: stored 0, asked 0.5" in line for line in lines)
    assert tree(layer) == before
    for path in (layer, *layer.rglob("*")):
        path.chmod(0o755 if path.is_dir() else 0o644)


# A model whose tokens can be counted, and to which litellm does not send every parameter.

REASONING = "o3-mini"
ELSEWHERE = """
from importlib import metadata

installed = metadata.version


def version(name):
    if name != "litellm":
        return installed(name)
    {then}


metadata.version = version
"""
"""A conftest for a machine with another release of litellm, or without it."""


@pytest.fixture(scope="module")
def paid(tmp_path_factory: pytest.TempPathFactory) -> tuple[str, Path]:
    """The address of a server that gave two answers, and the folder of their store."""
    folder = tmp_path_factory.mktemp("paid")
    with OpenAIServer(Script(2)) as server:
        run = run_inside(folder, server, count=2, model=REASONING)
        assert all("temperature" not in request.body for request in server.requests)
    assert run.exit_code == 0, run.output
    assert run.facts["params_dropped"].keys() == {"temperature"}
    return server.url, folder / "answers"


def check_two_of_three_stored(run: Run) -> None:
    assert run.exit_code == 1, run.output
    outcomes = sorted((record.outcome, record.reason) for record in run.records.values())
    assert outcomes == [("no_answer", "not_stored"), ("right", None), ("right", None)]


def test_the_plan_of_a_replay_needs_no_engine(paid: tuple[str, Path], tmp_path: Path) -> None:
    run = replay(*(tmp_path / "run", *paid, "--bench-plan"), count=3, model=REASONING)
    assert run.exit_code == 0, run.output
    assert "ERROR" not in run.output
    assert "this was the plan only" in run.output


@pytest.mark.parametrize(
    ("start", "options", "then"),
    [
        ("", ["-n1"], "return '0.0.1'"),  # without `ALONE`: xdist starts processes
        (ALONE, [], "raise metadata.PackageNotFoundError(name)"),
    ],
    ids=["another release", "not installed"],
)
def test_a_replay_finds_answers_of_another_litellm_release(
    paid: tuple[str, Path], tmp_path: Path, start: str, options: list[str], then: str
) -> None:
    conftest = start + ELSEWHERE.format(then=then)
    folder = tmp_path / "run"
    run = replay(folder, *paid, *options, count=3, model=REASONING, conftest=conftest)
    check_two_of_three_stored(run)
    assert run.facts["params_dropped"].keys() == {"temperature"}
    assert sum(record.from_store for record in run.records.values()) == 2


def test_a_budget_does_not_end_a_replay(paid: tuple[str, Path], tmp_path: Path) -> None:
    # Without litellm the price of this model is unknown.
    budget = ("--bench-max-cost=1", "--bench-param=seed=2")
    run = replay(*(tmp_path / "run", *paid, *budget), count=1, model=REASONING)
    assert run.exit_code == 1, run.output
    assert [record.reason for record in run.records.values()] == ["not_stored"]


# Folders.


@pytest.fixture
def kept(bench: Bench, monkeypatch: pytest.MonkeyPatch) -> Bench:
    """Three answers in the folder `kept`; the default store of the user does not exist."""
    for name in ("HOME", "USERPROFILE", "LOCALAPPDATA", "XDG_CACHE_HOME"):
        monkeypatch.setenv(name, str(bench.path / "home"))
    bench.run("--model=echo/any", "--bench-store=kept", results="before")
    assert len(bench.calls("ask")) == 3
    return bench


def test_a_read_only_store_is_enough_for_a_replay(kept: Bench) -> None:
    arguments = ("--model=echo/any", "--bench-store-readonly=kept", "--bench-replay")
    result = kept.run(*arguments)
    result.assert_outcomes(passed=1, failed=2)
    assert all(record["from_store"] for record in kept.records())
    assert len(kept.calls("ask")) == 3
    assert not (kept.path / "home").exists()


@pytest.mark.parametrize("options", [(), ("--bench-store=none",)], ids=["the user's own", "none"])
def test_a_replay_without_a_store_is_refused(kept: Bench, options: tuple[str, ...]) -> None:
    # The default store does not exist.
    grid = ("--bench-serializer=html", "--bench-perturbation=none", "--bench-results=run")
    result = kept.pytester.runpytest_inprocess(
        "--model=echo/any", "--bench-replay", *grid, *options
    )
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    [line] = [line for line in result.errlines if line]
    assert line.startswith("ERROR: --bench-replay needs a store of answers (")
    assert len(kept.calls("ask")) == 3
    assert not (kept.path / "home").exists()
    assert not (kept.path / "run").exists()


def test_a_built_in_model_replays_without_a_store(kept: Bench) -> None:
    model = kept.script({"default": "36"})
    kept.run("--bench-replay", f"--model={model}").assert_outcomes(passed=1, failed=2)
