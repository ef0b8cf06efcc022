"""`tablebench pull treb` from both hubs, in any layout that they may have."""

from __future__ import annotations

import json

import pytest

from pytest_tablebench.datasets.pull import _servers
from pytest_tablebench.datasets.treb.treb import DATASETS
from tests.support.pulls import Place, sha256
from tests.support.treb_files import sample
from tests.support.upstream_server import COMMIT, Fault

QUERY = json.dumps([sample("Table_Query")]).encode()
BY_LANGUAGE = {
    "English/Table_Query.json": QUERY,
    "Chinese/Table_Query.json": QUERY,
    "CSV/CSV.zip": b"PK\x05\x06" + b"\0" * 18,
    "leadboard_testset/JSON/Table_Query.json": b"[]",
    "README.md": b"not wanted",
}
FLAT = {"Table_Query.json": QUERY, "README.md": b"not wanted"}
HUB, SCOPE = "JT-LM/JIUTIAN-TReB", "JiuTian-AI/JIUTIAN-TReB"


def test_the_hub_gives_what_it_has(place: Place) -> None:
    place.server.hub(HUB, BY_LANGUAGE)
    place.pull("treb")
    assert sorted(place.files("treb")) == sorted(BY_LANGUAGE)[:3]
    lock = place.lock("treb")
    assert (lock["source"], lock["commit"]) == (f"https://huggingface.co/datasets/{HUB}", COMMIT)
    (dataset,) = [one for one in DATASETS if one.name == "treb_table_query"]
    assert len(dataset.open(place.data / "treb").example_ids(None)) == 2


@pytest.mark.parametrize("files", [BY_LANGUAGE, FLAT])
def test_modelscope_is_asked_where_the_hub_gives_nothing(
    place: Place, files: dict[str, bytes]
) -> None:
    place.server.modelscope(SCOPE, files)
    place.pull("treb_table_query")
    wanted = sorted(set(files) - {"README.md", "leadboard_testset/JSON/Table_Query.json"})
    assert sorted(place.files("treb")) == wanted
    assert place.lock("treb")["source"] == f"https://www.modelscope.cn/datasets/{SCOPE}"
    assert any("trying another source" in line for line in place.said)
    place.server.forget()
    place.server.hub(HUB, BY_LANGUAGE)
    place.pull("treb")  # all is there: nobody is asked
    assert not place.server.asked


def test_a_folder_goes_on_with_the_source_that_it_has_files_of(place: Place) -> None:
    place.server.hub(HUB, BY_LANGUAGE)
    place.server.modelscope(SCOPE, BY_LANGUAGE)
    place.server.fault("Chinese/Table_Query.json", Fault(status=404))
    assert "there is no such file" in place.refused("treb")
    place.pull("treb")
    assert place.lock("treb")["source"] == f"https://huggingface.co/datasets/{HUB}"


def test_bytes_that_are_not_as_modelscope_states_are_thrown_away(place: Place) -> None:
    place.server.modelscope(SCOPE, FLAT)
    place.server.fault("/repo", Fault(corrupt=True))
    assert sha256(QUERY) in place.refused("treb")
    assert not place.files("treb")


def test_where_neither_has_it_both_are_named(place: Place) -> None:
    said = place.refused("treb")
    assert "modelscope" in said or "/api/v1/datasets" in said
    assert "JT-LM/JIUTIAN-TReB" in place.said[-2] + "".join(place.said)


def test_a_listing_has_several_pages(place: Place, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_servers, "PAGE_SIZE", 2)
    many = {f"CSV/{number}.csv": b"a,b\n" for number in range(4)}
    place.server.modelscope(SCOPE, {**many, **FLAT})
    place.pull("treb")
    assert len(place.files("treb")) == 5
