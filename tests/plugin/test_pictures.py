"""Tables as pictures: requests, run folder, and models that cannot read them."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

from pytest_tablebench.results import read_records
from tests.support.openai_server import OpenAIServer, text
from tests.support.runs import SUITE, run_inside

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


def test_a_picture_is_sent_to_the_server_and_stored_once(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(CONFTEST, encoding="utf-8")
    sent: list[Any] = []

    def answer(body: dict[str, Any]) -> Any:
        sent.append(body["messages"][-1]["content"])
        return text("1969")

    options = ("--bench-serializer", "picture", "--bench-shots", "1")
    with OpenAIServer(answer) as server:
        run = run_inside(tmp_path, server, *options, "-n", "1", count=2)
        assert len(run.records) == 4, run.output  # as csv too
        replay = ("--bench-replay", "--bench-results", "replayed")
        run_inside(tmp_path, server, *options, *replay, count=2)
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


TREE = """
from pytest_tablebench.datasets import Dataset, Example, PromptParts
from pytest_tablebench.datasets._questions import memory_source
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.table import Table

SALES = Table(
    header=["", "2023", "2024"],
    rows=[["Europe", "", ""], ["France", "1", "2"], ["Spain", "3", "4"]],
    header_rows=[["Region", "Sales", ""]],
    row_headers=1,
    spans=[Span(0, 0, 2, 1), Span(0, 1, 1, 2)],
    sections=[0],
)


class Tree(Dataset):
    name = folder = "tree"
    benchmark, metric = "trees", "exact_match"

    def open(self, folder, *, compat="fixed"):
        example = Example("one", {"table": SALES}, "How many?", ("4",), "4")
        return memory_source([example])

    def chain(self, compat):
        return ()

    def prompt(self, example, render):
        return PromptParts("Read.", render(example.inputs["table"]) + "\\nHow many?\\n")


def pytest_tablebench_register_dataset(register):
    register(Tree())
"""


def test_every_dataset_can_be_shown_as_pictures_alone_or_with_text(tmp_path: Path) -> None:
    (tmp_path / "conftest.py").write_text(TREE, encoding="utf-8")
    shown: list[tuple[str, ...]] = []
    names: set[str] = set()

    def answer(body: dict[str, Any]) -> Any:
        content, kinds = body["messages"][-1]["content"], []
        for part in content:
            kinds.append("image" if part["type"] == "image_url" else part["text"])
            if part["type"] == "image_url":
                data = base64.b64decode(part["image_url"]["url"].partition("base64,")[2])
                names.add(f"{hashlib.sha256(data).hexdigest()}.png")
        shown.append(tuple(kinds))
        return text("4")

    suite = SUITE + SUITE[SUITE.index("@pytest") :].replace("starter", "tree")
    both = ("--bench-modality", "image,image_text")
    with OpenAIServer(answer) as server:
        run = run_inside(tmp_path, server, *both, count=2, suite=suite, page=True)
        assert len(run.records) == 6, run.output
        words = (*both, "--bench-results", "no")
        refused = run_inside(tmp_path, server, *words, count=2, model="openai/o3-mini")
    cases = {(r.dataset, r.serializer, r.modality) for r in run.records.values()}
    ways = [("image", "image"), ("csv", "image_text")]
    assert cases == {(name, *pair) for name in ("starter", "tree") for pair in ways}
    assert "tree/one/image/none/image" in run.records
    assert "tree/one/csv/none/image_text" in run.records
    assert run.facts["grid"]["modalities"] == ["image", "image_text"]
    assert len(shown) == 6
    # The picture replaces the text, or follows it.
    assert all(kinds.count("image") == 1 and kinds[1] == "image" for kinds in shown)
    assert sum('"Region","Sales",""' in kinds[0] for kinds in shown) == 1
    folder = run.folder / "run"
    assert {path.name for path in (folder / "media").iterdir()} == names
    page = (folder / "report.html").read_text(encoding="utf-8")
    for name in names:
        assert base64.b64encode((folder / "media" / name).read_bytes()).decode() in page
    assert f"{len(names)} pictures of media/ are on this page" in page
    assert "larger one" not in page
    assert "because their tokens are unknown" in run.output
    assert refused.exit_code == 4
    assert "openai/o3-mini cannot read the pictures of" in refused.output
    assert not (tmp_path / "no").exists()
