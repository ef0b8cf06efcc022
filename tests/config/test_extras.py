"""What is missing where the extra `benchmarks` is not installed, and where that is said."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

from pytest_tablebench.config import extras
from pytest_tablebench.config.extras import PICTURES, PLOTS, require
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.metrics import METRICS, _bleu, _f1, chinese

ROOT = Path(__file__).parents[2]
MODULES = {
    "arabic-reshaper": "arabic_reshaper",
    "fonttools": "fontTools",
    "pillow": "PIL",
    "python-bidi": "bidi",
}


def test_what_is_missing_is_named_with_the_extra() -> None:
    require(["json"], "nothing")
    with pytest.raises(SettingsError) as raised:
        require(["no_such_a", "json", "no_such_b"], "dataset 'x', scored by y,")
    assert str(raised.value) == (
        "dataset 'x', scored by y, needs no_such_a and no_such_b: "
        "pip install 'pytest-tablebench[benchmarks]'"
    )


def test_the_extra_has_all_that_is_asked_for_and_nothing_else() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = {
        re.split("[<>=]", entry)[0] for entry in project["optional-dependencies"]["benchmarks"]
    }
    asked = {module for metric in METRICS.values() for module in getattr(metric, "modules", ())}
    assert {MODULES.get(name, name) for name in names} == {*asked, *PICTURES, *PLOTS}


def test_a_score_names_the_extra_where_its_package_is_missing(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(extras, "find_spec", lambda name: None)
    for load, subject in (
        (_bleu._sacrebleu, "BLEU needs sacrebleu"),
        (_f1._tokenizer, "token F1 needs spacy"),
        (chinese._tokenizer, "the score of a Chinese answer needs jieba"),
    ):
        load.cache_clear()
        with pytest.raises(SettingsError, match=subject):
            load()
        load.cache_clear()
