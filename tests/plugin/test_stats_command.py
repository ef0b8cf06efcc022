"""`tablebench stats`: figures of datasets as text, files and JSON."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import matplotlib.image
import pytest

from tests.support.commands import command

HOSTILE = "\x1b[31mred"
PAGE = """<table>
<tr><th rowspan=2>Region</th><th colspan=2>Sales</th></tr><tr><th>2023</th><th>2024</th></tr>
<tr><td>North</td><td>1</td><td>2</td></tr><tr><td>South</td><td>3</td><td>4</td></tr>
</table>"""


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Four questions over a flat table, its copy, and one with two header levels."""
    shop = tmp_path / "data" / "shop"
    shop.mkdir(parents=True)
    flat = "Product,Price\ntea,12\ncocoa,7\nmilk,1\n"
    (shop / "flat.csv").write_text(flat, "utf-8")
    (shop / "copy.csv").write_text(flat, "utf-8")
    (shop / "sales.html").write_text(PAGE, "utf-8")
    rows = [
        ("table", "question", "answer", "tags"),
        ("flat.csv", "Which is cheapest?", "milk", "kind=argmin"),
        ("copy.csv", "What does tea cost?", "12", f"kind={HOSTILE}"),
        ("flat.csv", "茶多少钱?", "12", f"kind={HOSTILE}"),
        ("sales.html", "Where were most sales?", "South", f"kind={HOSTILE}"),
    ]
    with (shop / "questions.csv").open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows(rows)
    return shop


def rows_of(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(path.read_text("utf-8").splitlines()))


def json_of(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> dict[str, Any]:
    code, out, _ = command(capsys, "stats", *arguments, "--json=-")
    assert code == 0
    data: dict[str, Any] = json.loads(out)
    return data


def test_stats_counts_and_measures_a_folder(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    out = tmp_path / "out"
    code, shown, _ = command(capsys, "stats", folder, "-o", out)
    assert code == 0
    assert "\x1b" not in shown
    assert "\\x1b[31mred" in shown
    [counts] = rows_of(out / "datasets.csv")
    # The copy is the same table under another name.
    assert (counts["questions"], counts["tables"], counts["clusters"]) == ("4", "2", "3")
    assert float(counts["questions per cluster"]) == pytest.approx(4 / 3)
    sizes = {row["of"]: row for row in rows_of(out / "sizes.csv")}
    # By hand: 3 rows of 2 columns and 2 rows of 3; names and numbers have 3 + 2, 5 + 1 and 4 + 1
    # characters in 6 cells of the one, 5 + 1 + 1 twice in 6 of the other.
    assert (sizes["rows"]["mean"], sizes["rows"]["median"], sizes["rows"]["largest"]) == (
        "2.5", "2.0", "3.0",
    )  # fmt: skip
    assert sizes["cells"]["mean"] == "6.0"
    assert float(sizes["cell length"]["mean"]) == pytest.approx((16 / 6 + 14 / 6) / 2)
    # Three, four, four and, in Chinese, four characters and a mark.
    assert sizes["question words"]["largest"] == "5.0"
    [structure] = rows_of(out / "structure.csv")
    assert (structure["header levels"], structure["merged cells"]) == ("1", "1")
    assert (structure["notes"], structure["several tables"]) == ("0", "0")
    # The table with levels has 2 points for the second level and 1 for the parent header, of 9; the
    # mean includes its row headers, which have none, and the flat table.
    assert float(structure["header hierarchy"]) == pytest.approx(100 * 3 / 9 / 2 / 2)
    kinds = [row for row in rows_of(out / "tags.csv") if row["tag"] == "kind"]
    tags = {row["value"]: (row["questions"], row["tables"]) for row in kinds}
    assert tags == {"\\x1b[31mred": ("3", "2"), "argmin": ("1", "1")}
    for name in ("tags", "sizes", "structure"):
        pixels = matplotlib.image.imread(out / f"{name}.png")
        assert (pixels[..., :3] < 0.5).any()
        assert (out / f"{name}.svg").is_file()
        assert (out / f"{name}.md").is_file()
    data = json.loads((out / "statistics.json").read_text("utf-8"))
    assert data["all"] is None
    assert data["datasets"][0]["tags"]["kind"] == {
        HOSTILE: {"questions": 3, "tables": 2},
        "argmin": {"questions": 1, "tables": 1},
    }


def test_stats_sums_several_datasets(
    folder: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    data = json_of(capsys, folder, "starter", "starter", "-o", tmp_path / "out", "--no-plots")
    assert [dataset["dataset"] for dataset in data["datasets"]] == ["shop", "starter"]
    # The starter has 258 questions over 43 tables.
    assert (data["all"]["questions"], data["all"]["tables"]) == (262, 45)
    assert data["all"]["tags"]["dataset"] == {
        "starter": {"questions": 258, "tables": 43},
        "shop": {"questions": 4, "tables": 2},
    }
    assert sum(data["all"]["complexity"].values()) == 45
    assert not list((tmp_path / "out").glob("*.png"))
    kept = json.loads((tmp_path / "out" / "statistics.json").read_text("utf-8"))
    assert kept == data


def test_stats_limits_each_dataset(folder: Path, capsys: pytest.CaptureFixture[str]) -> None:
    data = json_of(capsys, "shop", "starter", "--bench-data", folder.parent, "--limit", "2")
    assert [dataset["questions"] for dataset in data["datasets"]] == [2, 2]


def test_stats_leaves_out_missing_datasets(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    code, _, err = command(capsys, "stats", "wikitq", "--bench-data", tmp_path)
    assert code == 2
    assert "tablebench pull wikitq" in err
    code, out, _ = command(capsys, "stats", "wikitq", "starter_skills", "--bench-data", tmp_path)
    assert code == 0
    assert "left out: " in out
    assert "starter_skills" in out


@pytest.mark.parametrize(
    ("arguments", "why"),
    [
        (["startr"], "unknown dataset 'startr'; did you mean 'starter'"),
        (["."], "no dataset in ."),
    ],
)
def test_stats_refuses_an_unknown_name_and_an_empty_folder(
    arguments: list[str],
    why: str,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.chdir(tmp_path)
    code, _, err = command(capsys, "stats", *arguments)
    assert code == 2
    assert why in err


def test_stats_refuses_a_folder_without_a_usable_question(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (folder / "questions.csv").write_text("table,question,answer\nno.csv,Which?,tea\n", "utf-8")
    code, _, err = command(capsys, "stats", folder)
    assert code == 2
    assert "shop has no usable question: questions.csv" in err
    assert "no.csv" in err


def test_ranges_are_in_the_order_of_their_size(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "t.csv").write_text("a,b\n1,2\n", "utf-8")
    tags = ["size=>20K", "size=10-20K", "size=>20K", "size=<10K", "size=5-10K", "size=10-20K"]
    lines = ["table,question,answer,tags", *(f"t.csv,Which {n}?,1,{t}" for n, t in enumerate(tags))]
    (tmp_path / "questions.csv").write_text("\n".join(lines), "utf-8")
    sizes = json_of(capsys, tmp_path)["datasets"][0]["tags"]["size"]
    assert list(sizes) == ["5-10K", "<10K", "10-20K", ">20K"]
