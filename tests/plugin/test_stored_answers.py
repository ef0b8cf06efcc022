"""Answers of registered providers in the store: whose they are, and when they cannot be kept."""

from __future__ import annotations

import pytest

from tests.support.toy_bench import Bench

STORE = "--bench-store=answers"


def test_two_endpoints_share_no_answer(bench: Bench) -> None:
    bench.suite()
    for asked, port in ((3, 8000), (6, 8001), (6, 8000)):
        bench.run(
            "--model=echo/any",
            STORE,
            f"--bench-api-base=http://me:word@localhost:{port}/v1",
            results=f"run-{asked}-{port}",
        )
        assert len(bench.calls("ask")) == asked, port
    for path in bench.path.rglob("*"):
        assert not path.is_file() or b"me:word" not in path.read_bytes(), path


FULL_AFTER_ONE = """
import shutil

ask = Echo.complete


def complete(self, request):
    # Nothing can be kept from here on: where the answers were, there is a file.
    if "ada" in request.case_id:
        shutil.rmtree(HERE / "answers")
        (HERE / "answers").write_text("")
    return ask(self, request)


Echo.complete = complete
"""


@pytest.mark.parametrize("workers", [[], ["-n1"]], ids=["alone", "worker"])
def test_an_answer_that_cannot_be_kept_counts_and_is_the_last(
    bench: Bench, workers: list[str]
) -> None:
    conftest = bench.path / "conftest.py"
    conftest.write_text(conftest.read_text("utf-8") + FULL_AFTER_ONE, encoding="utf-8")
    bench.suite()
    run = bench.run_apart if workers else bench.run
    result = run("--model=echo/any", STORE, *workers)
    assert result.ret == pytest.ExitCode.INTERRUPTED
    [record] = bench.records()
    assert (record["example_id"], record["outcome"], record["raw"]) == ("ada", "right", "36")
    assert len(bench.calls("ask")) == 1
    said = [line for line in result.outlines if "answers cannot be kept" in line]
    assert len(said) == 1, result.stdout.str()
    assert "tablebench stopped, because answers cannot be kept" in said[0]
    assert "--bench-store" in said[0]
