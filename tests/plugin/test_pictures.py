"""A serializer that shows a table as a picture: what the server gets, what the run keeps."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from pytest_tablebench.results import read_records
from tests.support.openai_server import OpenAIServer, text
from tests.support.runs import run_pytest

PNG = base64.b64decode(
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAQAAAC1HAwCAAAAC0lEQVR42mNk+A8AAQUBAScY42YAAAAASUVORK5CYII="
)
"""One white pixel."""

CONFTEST = f"""
from pytest_tablebench.serializers import Image


def picture(table):
    return ("Seen from afar: ", Image("image/png", {PNG!r}))


def pytest_tablebench_register_serializer(register):
    register("picture", picture)
"""


def test_a_picture_reaches_the_server_and_lies_in_the_run_folder_once(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    sent: list[Any] = []

    def answer(body: dict[str, Any]) -> Any:
        sent.append(body["messages"][-1]["content"])
        return text("1969")

    options = ("--bench-serializer", "picture", "--bench-shots", "1")
    with OpenAIServer(answer) as server:
        run = run_pytest(tmp_path, server, *options, "-n", "2", count=2)
        assert len(run.records) == 4, run.output  # as csv too
        replay = ("--bench-replay", "--bench-results", "replayed")
        run_pytest(tmp_path, server, *options, *replay, count=2)
    assert len(sent) == 4  # the second run was answered from the store
    shown = [content for content in sent if not isinstance(content, str)]
    assert len(shown) == 2
    for content in shown:
        kinds = [part["type"] for part in content]
        # The demonstration's table, then the example's.
        assert kinds == ["text", "image_url", "text", "image_url", "text"]
        assert content[2]["text"].endswith("Seen from afar: ")
        head, _, data = content[1]["image_url"]["url"].partition(",")
        assert (head, base64.b64decode(data)) == ("data:image/png;base64", PNG)
    name = f"{hashlib.sha256(PNG).hexdigest()}.png"
    assert [path.name for path in (run.folder / "run" / "media").iterdir()] == [name]
    assert (run.folder / "run" / "media" / name).read_bytes() == PNG
    again = list(read_records(tmp_path / "replayed"))
    assert len({record.prompt_digest for record in again}) == 4
    for record in again:
        assert record.from_store
        assert record.raw == "1969"
        assert run.records[record.case_id].prompt_digest == record.prompt_digest
