"""Secrets of each kind, searched for in all files and output of a run."""

from __future__ import annotations

import base64
import json
import re
import zlib
from collections.abc import Iterator
from pathlib import Path

import pytest

from tests.support.openai_server import OpenAIServer, error, text
from tests.support.runs import KEY, LITELLM, Script, examples, right, run_inside

HEADERS = {
    "Cookie": "session-4cb1",
    "X-Functions-Key": "fun-77ad",
    "Auth": "Bearer bear-90fe",
    "jwt": "eyJ-31cc",
}
QUERY = {"pwd": "word-1a2b", "sig": "sign-5d6e", "auth": "auth-8f90", "subscription-key": "sub-77"}
IN_ADDRESS = "addr-c0de"
IN_PATH = "q7Zr93bKx0Lm42Wd"
SECRETS = (*HEADERS.values(), "bear-90fe", *QUERY.values(), IN_ADDRESS, IN_PATH, KEY)
REPEATED = f"{KEY}, {IN_PATH}, {IN_ADDRESS}, {HEADERS['Cookie']}, bear-90fe"
"""Secrets that a reply contains; shorter ones may occur in any answer."""


def contents(folder: Path) -> Iterator[tuple[str, bytes]]:
    """Yield the contents of the files of a folder, also unpacked."""
    for path in folder.rglob("*"):
        if not path.is_file():
            continue
        content = path.read_bytes()
        yield str(path), content
        if content.startswith(b"\x1f\x8b"):
            yield f"{path}, unpacked", zlib.decompress(content, 31)
        for packed in re.findall(rb"[A-Za-z0-9+/]{60,}={0,2}", content):
            try:
                yield f"{path}, unpacked", zlib.decompress(base64.b64decode(packed))
            except (ValueError, zlib.error):
                continue


def test_secrets_in_headers_queries_and_addresses_are_not_written_or_shown(tmp_path):
    message = f"refused: {', '.join(SECRETS)} at /v1?key={IN_ADDRESS}"
    thoughts = f"<think>Keys: {REPEATED}</think>"
    replies = {
        3: [text(f"Keys: {REPEATED}", fingerprint=KEY)],
        4: [text(f"{thoughts}{right(examples(5)[4])}")],
    }
    script = Script(5, {1: [error(400, message)], 2: [error(500, message)]} | replies)
    with OpenAIServer(script) as server:
        run = run_inside(
            tmp_path,
            f"{server.url}/{IN_PATH}?code={IN_ADDRESS}",
            f"--bench-param=extra_headers={json.dumps(HEADERS)}",
            f"--bench-param=extra_query={json.dumps(QUERY)}",
            "--bench-retries=0",
            "--bench-allure=all",
            "--bench-gate=starter.no_answer <= 0.5",
            "--junitxml=junit.xml",
            "-n1",
            "-rA",
            "--showlocals",
            "--tb=long",
            count=5,
            page=True,
            model=LITELLM,
        )
        [request, *_] = server.requests
    sent = {name.lower(): value for name, value in request.headers.items()}
    assert sent["x-functions-key"] == "fun-77ad"
    assert IN_ADDRESS in request.path
    assert IN_PATH in request.path
    outcomes = [record.outcome for _, record in sorted(run.by_number.items())]
    assert sorted(outcomes) == ["no_answer", "no_answer", "right", "right", "wrong"], run.output
    written = dict(contents(tmp_path))
    names = ("report.html, unpacked", "run.json", "records.jsonl", "summary.md")
    for name in ("junit.xml", "output.txt", *(f"run/{name}" for name in names)):
        assert str(tmp_path / name) in written
    [stored] = [text for name, text in written.items() if "answers" in name and b'"text"' in text]
    assert stored.count(b"Keys: ***, ***, ***, ***, ***") == 2
    leaks = [
        (n, secret) for n, text in written.items() for secret in SECRETS if secret.encode() in text
    ]
    assert not leaks
    assert run.facts["params"]["extra_query"]["pwd"].startswith("sha256:")
    assert "***" in run.output  # the server's message without secrets


@pytest.mark.parametrize(
    ("key", "fault"), [("sk-abc\n", "a line end"), ("sk-ä", "characters outside ASCII")]
)
def test_a_key_that_cannot_be_sent_is_refused_before_the_first_call(bench, monkeypatch, key, fault):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    with OpenAIServer() as server:
        result = bench.run("--model=openai/x", f"--bench-api-base={server.url}")
        assert server.calls == 0
    assert result.ret == pytest.ExitCode.USAGE_ERROR
    result.stderr.fnmatch_lines(
        [f"ERROR: OPENAI_API_KEY contains {fault}, which HTTP cannot send*"]
    )
