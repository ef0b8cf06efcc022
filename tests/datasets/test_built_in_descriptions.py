"""The built-in descriptions of benchmarks, over slices of their data."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench import serialize
from pytest_tablebench.datasets.other.descriptions import DATASETS
from pytest_tablebench.errors import DataMissing
from tests.support.slices import ROOT as SLICES
from tests.support.slices import needs_slices

OTHER = {dataset.name: dataset for dataset in DATASETS}


@needs_slices("tatqa", "aitqa", "fetaqa")
@pytest.mark.parametrize(("name", "count"), [("tatqa", 1663), ("aitqa", 515), ("fetaqa", 400)])
def test_every_row_of_a_slice_is_read(name: str, count: int) -> None:
    source = OTHER[name].open(SLICES / name)
    assert len(source.example_ids(None)) == count
    assert list(source.problems) == []


@needs_slices("aitqa")
def test_header_paths_become_levels_and_merged_cells() -> None:
    source = OTHER["aitqa"].open(SLICES / "aitqa")
    tables = {source.stratum(name).table: name for name in source.example_ids(None)}
    # The second table of the file has five years below one header, and two levels of row headers.
    table = source.example(tables["aitqa/tab-1"]).inputs["table"]
    assert table.header == ("", "", "2018", "2017 (a)", "2016 (a)", "2015", "2014")
    html = serialize(table, "html")
    assert '<th colspan="5">Year Ended December 31,</th>' in html
    assert '<th rowspan="13">Consolidated (b)</th>' in html


@needs_slices("aitqa")
def test_questions_of_one_paraphrase_group_are_one_cluster() -> None:
    source = OTHER["aitqa"].open(SLICES / "aitqa")
    assert source.example("q-0").cluster == "aitqa/para-5"
    assert (
        source.example("q-1").cluster == "aitqa/tab-0"
    )  # without a group the table is the cluster


@pytest.mark.parametrize("name", sorted(OTHER))
def test_a_built_in_description_is_short_and_names_source_licence_and_citation(name: str) -> None:
    dataset = OTHER[name]
    assert dataset.upstream is not None
    assert dataset.licence_name
    assert dataset.citation
    with pytest.raises(DataMissing, match=f"get it with: .*tablebench pull {name}"):
        dataset.open(Path("nowhere") / name)
