"""The file of corrections to gold answers."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import given as for_all
from hypothesis import strategies as st

from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results.corrections import (
    VERDICTS,
    Correction,
    Corrections,
    read_corrections,
    write_corrections,
)

HEADER = "dataset,example,digest,verdict,answers,evidence,who,when\n"

TEXTS = st.text(st.characters(exclude_categories=["Cs", "Cc"]), min_size=1).map("x{}y".format)


@st.composite
def corrections(draw: st.DrawFn) -> Correction:
    """Draw a correction that the file can contain."""
    verdict = draw(st.sampled_from(VERDICTS))
    answers = draw(st.lists(TEXTS)) if verdict in {"wrong", "several"} else []
    texts = (draw(TEXTS) for _ in range(6))
    dataset, example, digest, evidence, reviewer, date = texts
    return Correction(dataset, example, digest, verdict, tuple(answers), evidence, reviewer, date)


@for_all(st.lists(corrections(), min_size=1, unique_by=lambda item: item.key))
def test_what_is_written_is_read_back(items: list[Correction]) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "corrections.csv"
        write_corrections(path, items)
        overlay = read_corrections(path)
    assert overlay.by_example == {item.key: item for item in items}
    assert overlay.digest == Corrections.of(reversed(items)).digest


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        ("", "contains no corrections"),
        ("wikitq,nu-1,d,wrng,,,,\n", "row 2: unknown verdict 'wrng'; use one of right, wrong"),
        ("wikitq,,d,wrong,,,,\n", "row 2: example is empty"),
        ("wikitq,nu-1,d,wrong\n", "row 2: has 4 cells, not 8"),
        ("wikitq,nu-1,d,broken,12,,,\n", "row 2: the verdict broken takes no answers"),
        (
            'w,1,d,wrong,"[""12""]",,ann,\nw,2,d,right,,,,\nw,1,d,wrong,13,,bob,\n',
            "row 4: contradicts row 2 about w/1",
        ),
    ],
)
def test_a_bad_row_is_named(tmp_path: Path, rows: str, message: str) -> None:
    path = tmp_path / "corrections.csv"
    path.write_text(HEADER + rows)
    with pytest.raises(SettingsError, match=r"corrections\.csv") as error:
        read_corrections(path)
    assert message in str(error.value)


def test_two_people_may_agree(tmp_path: Path) -> None:
    path = tmp_path / "corrections.csv"
    path.write_text(HEADER + "w,1,d,wrong,12,,ann,\n" + 'w,1,d,wrong,"[""12""]",,bob,\n')
    assert read_corrections(path).by_example["w", "1"].answers == ("12",)


def test_the_file_of_reported_errors_loads() -> None:
    overlay = read_corrections(Path(__file__).parents[2] / "docs/reported-corrections.csv")
    assert {key: item.answers for key, item in overlay.by_example.items()} == {
        ("tatqa", "c91ad938-6ad1-4481-8f6b-43ccd2f69926"): ("-1.9",),
        ("finqa", "ANSS/2008/page_89.pdf-1"): ("4.26",),
        ("finqa_text", "ANSS/2008/page_89.pdf-1"): ("4.26",),
        ("tablebench_nr", "1aba704991b72a8107475d7fea800b42"): ("1157",),
    }
    assert all(item.is_for("any digest") for item in overlay.by_example.values())


def test_people_and_reasons_do_not_change_the_digest() -> None:
    first = Correction("w", "1", "d", "wrong", ("12",), "a sum", "ann", "2026-01-01")
    second = Correction("w", "1", "d", "wrong", ("12",))
    third = Correction("w", "1", "d", "wrong", ("13",))
    assert Corrections.of([first]).digest == Corrections.of([second]).digest
    assert Corrections.of([first]).digest != Corrections.of([third]).digest
