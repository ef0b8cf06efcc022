"""Chart cases in the page: the picture drawn by the model, and the expected values."""

from __future__ import annotations

import base64
import hashlib
from pathlib import Path
from typing import Any

import pytest
from bs4 import BeautifulSoup

from pytest_tablebench.reports.html._details import shown_chart
from pytest_tablebench.reports.publish import publish_pair
from pytest_tablebench.results import Record
from tests.support.page_files import block, page, text_of
from tests.support.page_runs import record, write_run

PNG = b"\x89PNG of ours"
NAME = f"{hashlib.sha256(PNG).hexdigest()}.png"


def chart(reference: str, kind: str = "bar", picture: Any = NAME, **fields: Any) -> Record:
    steps = ({"kind": "ask"}, {"kind": "execute"} | ({"picture": picture} if picture else {}))
    plain: dict[str, Any] = {"metric": "tablebench_chart", "references": (reference,)}
    return record(**{**plain, "tags": {"chart": kind}, "steps": steps, **fields})


def shapes(reference: str, kind: str = "bar") -> list[Any]:
    chart_data = shown_chart(chart(reference, kind))
    assert chart_data is not None
    return [shape for shape in chart_data["shapes"] if shape["style"] not in {"grid", "tick"}]


def test_a_chart_case_has_its_picture_and_the_expected_values(tmp_path: Path) -> None:
    (tmp_path / "run" / "media").mkdir(parents=True)
    (tmp_path / "run" / "media" / NAME).write_bytes(PNG)
    soup = page(tmp_path, [chart("y_references = [[2, 4]]"), record(example_id="plain")])
    chart_data, none = (detail["chart"] for detail in block(soup, "d0"))
    assert none is None
    drawn = chart_data.pop("shapes")
    assert chart_data == {"picture": NAME, "kind": "bar", "drawn": 2, "count": 2}
    number = block(soup, "index")["facts"]["pictures"][NAME]
    embedded = soup.find(id=f"b-m{number}")
    assert embedded is not None
    assert base64.b64decode(embedded.text) == PNG
    # 0 to 4 over 196 units: the second bar is twice as high, and both start at 0.
    bars = [shape["values"] for shape in drawn if shape["name"] == "rect"]
    assert [bar["height"] for bar in bars] == [98, 196]
    assert {bar["y"] + bar["height"] for bar in bars} == {206}
    assert [shape["text"] for shape in drawn if shape["name"] == "text"] == ["0", "4"]
    assert "1 picture of media/ is on this page" in text_of(soup, ".about")


def test_the_page_contains_a_picture_of_two_runs_once(tmp_path: Path) -> None:
    pictures = {name: f"PNG of {name}".encode() for name in ("both", "old", "new")}
    files = {name: f"{hashlib.sha256(data).hexdigest()}.png" for name, data in pictures.items()}
    runs = {}
    for run in ("old", "new"):
        names = (run, "both", "both")
        cases = [
            chart("[2]", picture=files[name], example_id=f"e{n}") for n, name in enumerate(names)
        ]
        runs[run] = write_run(tmp_path / run, cases, texts=False)
        (runs[run] / "media").mkdir()
        for name in {*names}:
            (runs[run] / "media" / files[name]).write_bytes(pictures[name])
    publish_pair(runs["old"], runs["new"], tmp_path / "p.html")
    text = (tmp_path / "p.html").read_text("utf-8")
    for data in pictures.values():
        assert text.count(base64.b64encode(data).decode()) == 1
    soup = BeautifulSoup(text, "html.parser")
    assert {*block(soup, "index")["facts"]["pictures"]} == {*files.values()}
    sides = [
        (detail["before"]["picture"], detail["chart"]["picture"]) for detail in block(soup, "d0")
    ]
    assert sides == [(files["old"], files["new"]), *[(files["both"], files["both"])] * 2]


@pytest.mark.parametrize(
    ("kind", "elements"),
    [
        ("LineChart Generation", ["polyline", "circle", "circle", "polyline", "circle", "circle"]),
        ("scatter", ["circle"] * 4),
        ("PieChart Generation", ["path"] * 4),
        ("hbar", ["rect"] * 4),
        ("a tag of another kind", ["rect"] * 4),
    ],
)
def test_each_kind_of_chart_has_its_shapes(kind: str, elements: list[str]) -> None:
    assert [shape["name"] for shape in shapes("[[1, 2], [3, 4]]", kind)] == elements


def test_a_pie_has_slices_by_share() -> None:
    # A quarter from the right to the top, then three quarters.
    assert [shape["values"]["d"] for shape in shapes("[1, 3]", "pie")] == [
        "M180 108L276.0 108.0A96 96 0 0 0 180.0 12.0Z",
        "M180 108L180.0 12.0A96 96 0 1 0 276.0 108.0Z",
    ]
    assert [shape["name"] for shape in shapes("[0, 7]", "pie")] == ["circle"]
    assert [shape["name"] for shape in shapes("[-1, 7]", "pie")] == ["rect", "rect"]


@pytest.mark.parametrize(
    "reference",
    ["[[masked, 1]]", "", "[]", "[[[1]]]", "12", f"[{'9' * 400}]", "[1, [2]]", "<svg onload=x>"],
)
def test_invalid_references_are_not_drawn(reference: str) -> None:
    nothing = {"kind": "bar", "shapes": [], "drawn": 0, "count": 0}
    assert shown_chart(chart(reference)) == {"picture": NAME, **nothing}


def test_values_over_the_limit_are_left_out_and_counted() -> None:
    chart_data = shown_chart(chart(str([[1.5] * 150] * 20)))
    assert chart_data is not None
    assert (chart_data["drawn"], chart_data["count"]) == (200, 3000)
    assert sum(shape["name"] == "rect" for shape in chart_data["shapes"]) == 200


def test_only_a_digest_names_a_picture_and_a_failed_program_has_none() -> None:
    for name in ("../../etc/passwd", "__proto__", "x.svg", None):
        chart_data = shown_chart(chart("[1]", picture=name))
        assert chart_data is not None
        assert chart_data["picture"] is None
    assert shown_chart(record()) is None
    drawn_on_the_way = shown_chart(chart("[1]", metric="exact_match"))
    assert drawn_on_the_way is not None
    assert drawn_on_the_way["picture"] == NAME
