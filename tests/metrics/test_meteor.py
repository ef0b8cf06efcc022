"""METEOR worked out by hand over a WordNet of four words, and the note of a run without WordNet.

Of m matching words the precision is m over the reply's words, the recall m over the reference's,
F = 10 P R / (R + 9 P), and the score F (1 - 0.5 (chunks / m) ** 3).
"""

from __future__ import annotations

import time
from typing import Any

import pytest

from pytest_tablebench import score
from pytest_tablebench.datasets.torr.generation import QTSumm
from pytest_tablebench.metrics import meteor as meteor_module
from pytest_tablebench.running.builtins import builtin_registry

SYNONYMS = {"cab": ["taxi", "cab", "taxi_cab"], "rug": ["carpet", "rug"]}


class SmallWordNet:
    """The part of WordNet that nltk's METEOR uses: synsets with named lemmas."""

    def __init__(self, names: list[str]) -> None:
        self.names = names

    def synsets(self, word: str) -> list[SmallWordNet]:
        return [SmallWordNet(SYNONYMS[word])] if word in SYNONYMS else []

    def lemmas(self) -> list[Any]:
        return [type("Lemma", (), {"name": lambda _, name=name: name})() for name in self.names]


@pytest.fixture
def wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor_module, "_wordnet", lambda: SmallWordNet([]))


@pytest.fixture
def no_wordnet(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(meteor_module, "_wordnet", lambda: None)


@pytest.mark.parametrize(
    ("prediction", "references", "value"),
    [
        # Six matches in one chunk.
        ("the cat sat on the mat", ["the cat sat on the mat"], 1 - 0.5 * (1 / 6) ** 3),
        # Two synonyms among four words, which are stems, because nltk looks up stems.
        ("a cab on rug", ["a taxi on carpet"], 1 - 0.5 * (1 / 4) ** 3),
        # Two of four words, in two chunks: F is .5, and the penalty .5.
        ("one x two y", ["one a two b"], 0.5 * 0.5),
        # A stem matches too: P is 1/2 and R is 1, so F = 5 / (1 + 4.5).
        ("cats purr", ["cat"], 5 / 5.5 * 0.5),
        ("x y", ["a b"], 0.0),
        # The best of several references counts.
        ("the mat", ["a rug", "the mat"], 1 - 0.5 * (1 / 2) ** 3),
    ],
)
def test_meteor_agrees_with_values_worked_out_by_hand(
    wordnet: None, prediction: str, references: list[str], value: float
) -> None:
    assert meteor_module.meteor(references, prediction) == pytest.approx(value, abs=1e-12)
    found = score("rouge", prediction, references, with_meteor=True)
    assert found.parts["meteor"] == pytest.approx(value, abs=1e-12)
    assert found.part == "rougeL"
    assert "meteor" not in score("rouge", prediction, references).parts


def test_a_text_that_is_too_long_has_no_meteor(wordnet: None) -> None:
    start = time.process_time()
    for text in ("a b " * 100_000, "x" * 1_000_000):
        assert "meteor" not in score("rouge", text, ["a b c " * 400], with_meteor=True).parts
    assert time.process_time() - start < 20


def test_without_wordnet_meteor_is_absent(no_wordnet: None) -> None:
    assert "meteor" not in score("rouge", "the mat", ["the mat"], with_meteor=True).parts
    assert not meteor_module.has_wordnet()


def test_a_run_with_meteor_without_wordnet_has_a_note(no_wordnet: None) -> None:
    [note] = QTSumm().option_notes({"meteor": True})
    assert note.startswith("METEOR is absent from every case: nltk finds no WordNet")
    assert QTSumm().option_notes({"meteor": False}) == ()


def test_a_run_with_wordnet_has_no_note(wordnet: None) -> None:
    assert QTSumm().option_notes({"meteor": True}) == ()


def test_datasets_of_free_text_use_meteor() -> None:
    datasets = builtin_registry().datasets
    names = [name for name, one in datasets.items() if "meteor" in getattr(one, "options", ())]
    assert sorted(names) == ["numericnlg", "qtsumm", "scigen"]
    assert QTSumm().context({"meteor": True}) == {"with_meteor": True}
    assert QTSumm().context({}) == {}


def test_a_damaged_wordnet_counts_as_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken:
        def ensure_loaded(self) -> None:
            raise OSError("index.sense is missing")

    monkeypatch.setattr("nltk.corpus.wordnet", Broken())
    meteor_module._wordnet.cache_clear()
    assert not meteor_module.has_wordnet()
    meteor_module._wordnet.cache_clear()
