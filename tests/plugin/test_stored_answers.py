"""Answers of registered providers in the store: whose they are, and when they cannot be kept."""

from __future__ import annotations

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
