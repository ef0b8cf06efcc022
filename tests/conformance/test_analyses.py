"""Analyses know no order of records, and objects as well as mappings."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from pytest_tablebench import analyse

from . import vectors


@pytest.mark.parametrize("item", vectors.params("analyses.json", lambda item: item["id"]))
def test_objects_in_another_order_give_the_same(item):
    objects = [SimpleNamespace(**record) for record in reversed(item["records"])]
    assert analyse(iter(objects), item["params"]) == analyse(item["records"], item["params"])
