"""The loader of the golden vectors itself."""

from __future__ import annotations

import json
import math

import pytest

from . import vectors


def test_float_markers_are_decoded_however_deep(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLEBENCH_CONFORMANCE", str(tmp_path))
    content = [{"a": [[{"$float": "nan"}], {"b": {"$float": "-inf"}}], "c": {"$float": 1, "d": 2}}]
    (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
    [record] = vectors.load("x.json")
    assert math.isnan(record["a"][0][0])
    assert record["a"][1] == {"b": -math.inf}
    assert record["c"] == {"$float": 1, "d": 2}


def test_an_absent_file_skips_with_the_reason(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLEBENCH_CONFORMANCE", str(tmp_path))
    with pytest.raises(pytest.skip.Exception, match="golden vectors are not there"):
        vectors.load("x.json")
    [only] = vectors.params("x.json", label=lambda record: record["id"])
    assert only.id == "no-vectors"
    assert only.marks[0].name == "skip"
    assert "golden vectors are not there" in only.marks[0].kwargs["reason"]


def test_ids_are_readable_unique_and_ascii(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLEBENCH_CONFORMANCE", str(tmp_path))
    content = [{"id": "a b"}, {"id": "a-b"}, {"id": "é/x"}, {"id": "left out"}]
    (tmp_path / "x.json").write_text(json.dumps(content), encoding="utf-8")
    found = vectors.params(
        "x.json", label=lambda record: record["id"], keep=lambda record: record["id"] != "left out"
    )
    assert [param.id for param in found] == ["a-b", "a-b~2", "/x"]


def test_a_file_in_which_nothing_is_kept_is_an_error(tmp_path, monkeypatch):
    monkeypatch.setenv("TABLEBENCH_CONFORMANCE", str(tmp_path))
    (tmp_path / "x.json").write_text('[{"id": 1}]', encoding="utf-8")
    with pytest.raises(AssertionError, match="holds no record"):
        vectors.params("x.json", label=str, keep=lambda record: False)
