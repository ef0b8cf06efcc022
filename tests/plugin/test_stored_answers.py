"""Answers of registered providers in the store: endpoints, damaged stores, full disks."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import Bench

STORE = "--bench-store=answers"


def test_two_endpoints_do_not_share_stored_answers(bench: Bench) -> None:
    for calls, port in ((3, 8000), (6, 8001), (6, 8000)):
        bench.run(
            "--model=echo/any",
            STORE,
            f"--bench-api-base=http://me:word@localhost:{port}/v1",
            results=f"run-{calls}-{port}",
        )
        assert len(bench.calls("ask")) == calls, port
    for path in bench.path.rglob("*"):
        assert not path.is_file() or b"me:word" not in path.read_bytes(), path


def test_answers_above_an_age_are_asked_again(bench: Bench) -> None:
    for number, (calls, age) in enumerate(((3, "7d"), (3, "1d"), (6, "0"), (6, "30m"), (9, "0h"))):
        options = "--model=echo/any", STORE, f"--bench-max-age={age}"
        bench.run(*options, results=str(number))
        assert len(bench.calls("ask")) == calls, age
    bench.run("--model=echo/any", STORE, "--bench-max-age=0", "--bench-replay", "-v", results="r")
    assert {record["reason"] for record in bench.records("r")} == {"not_stored"}


def test_an_answer_asked_again_by_its_age_replaces_the_older_one(bench: Bench) -> None:
    bench.run("--model=echo/any", STORE, results="1")
    bench.adapt(add=BROKEN)
    bench.run("--model=echo/any", STORE, "--bench-max-age=0", results="2")
    bench.run("--model=echo/any", STORE, results="3")
    assert len(bench.calls("ask")) == 6
    answers = [{record["raw"] for record in bench.records(run)} for run in "123"]
    assert answers[0] != answers[1] == answers[2] == {"broken"}


BROKEN = """

def broken(self, request, complete=Echo.complete):
    return replace(complete(self, request), text="broken")


from dataclasses import replace

Echo.complete = broken
"""

FULL_AFTER_ONE = """
import shutil

ask = Echo.complete


def complete(self, request):
    # From here on no answer can be stored: a file replaces the folder of the store.
    if "ada" in request.case_id:
        shutil.rmtree(HERE / "answers")
        (HERE / "answers").write_text("")
    return ask(self, request)


Echo.complete = complete
"""


def test_an_answer_that_cannot_be_stored_counts_and_ends_the_run(bench: Bench) -> None:
    bench.adapt(add=FULL_AFTER_ONE)
    result = bench.run("--model=echo/any", STORE, "-n1")
    assert result.ret == pytest.ExitCode.INTERRUPTED
    [record] = bench.records()
    assert (record["example_id"], record["outcome"], record["raw"]) == ("ada", "right", "36")
    assert len(bench.calls("ask")) == 1
    lines = [line for line in result.outlines if "answers cannot be kept" in line]
    assert len(lines) == 1, result.stdout.str()
    assert "tablebench stopped, because answers cannot be kept" in lines[0]
    assert "--bench-store" in lines[0]


# Damage


@pytest.fixture
def damaged(bench: Bench) -> list[str]:
    """Options for a store of a later version, with an empty and a damaged read-only store."""
    for name in ("answers", "read"):
        (bench.path / name / "segments").mkdir(parents=True)
    later = '{"schema": 2, "key": "' + "0" * 64 + '"}\n'
    (bench.path / "answers/segments/later.jsonl").write_text(later, encoding="utf-8")
    (bench.path / "empty").mkdir()
    (bench.path / "read/segments/torn.jsonl").write_text("torn\n", encoding="utf-8")
    return [STORE, "--bench-store-readonly=empty", "--bench-store-readonly=read"]


def test_problems_of_a_store_are_reported_once_before_the_first_call(
    bench: Bench, damaged: list[str]
) -> None:
    result = bench.run("--model=echo/any", *damaged, "-n1")
    ours = ("tablebench: answer store: ", "tablebench: --bench-store-readonly: ")
    places = [n for n, line in enumerate(result.outlines) if line.startswith(ours)]
    lines = [result.outlines[n] for n in places]
    assert len(lines) == 3, result.stdout.str()
    for words in (
        "later.jsonl, byte 0: it has schema 2, this version reads up to 1: upgrade",
        "--bench-store-readonly: " + str(bench.path / "empty") + " contains no segments",
        "torn.jsonl, byte 0: it is not JSON",
    ):
        assert sum(words in line for line in lines) == 1, (words, lines)
    progress = next(n for n, line in enumerate(result.outlines) if "3/3" in line or "1/3" in line)
    assert max(places) < progress
