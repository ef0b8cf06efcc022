"""What a case shows of a table: its text, a picture, both, or what the dataset's files have."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets.case import Case
from pytest_tablebench.datasets.starter.starter import Starter
from pytest_tablebench.errors import TableError
from pytest_tablebench.running import _rendering as rendering
from pytest_tablebench.running._rendering import Renderer
from pytest_tablebench.running.builtins import builtin_registry
from pytest_tablebench.serializers import Content, Image, pictures, serialize
from pytest_tablebench.serializers.content import images_of, text_of
from pytest_tablebench.tables.table import Table

OWN = Image("image/png", b"the upstream file")


class WithFiles:
    """The embedded dataset, as if it had files of its own in two formats."""

    def __init__(self) -> None:
        self._source = Starter().open(Path())

    def __getattr__(self, name: str) -> object:
        return getattr(self._source, name)

    def as_given(self, table: Table, serializer: str) -> Content | None:
        files: dict[str, Content] = {"image": (OWN,), "html": "<upstream/>"}
        return files.get(serializer)


def shown(source: object, serializer: str, modality: str, perturbation: str = "none") -> Content:
    renderer = Renderer(Settings(), builtin_registry(), lambda _: source, lambda _: 1)  # type: ignore[arg-type,return-value]
    first = Starter().open(Path()).example_ids(1)[0]
    case = Case("starter", first, serializer, perturbation, "m", "id", modality=modality)
    return renderer.task(case).prompt


@pytest.mark.parametrize(("modality", "count"), [("text", 0), ("image_text", 2)])
def test_pictures_stand_beside_the_tables_of_demonstrations_too(modality: str, count: int) -> None:
    source = Starter().open(Path())
    prompt = shown(source, "csv", modality)
    [example] = [source.example(name) for name in source.example_ids(1)]
    [table] = [value for value in example.inputs.values() if isinstance(value, Table)]
    assert len(images_of(prompt)) == count
    assert serialize(table, "csv") in text_of(prompt)
    if count:
        assert images_of(prompt)[1:] == pictures(table)


def test_a_picture_takes_the_place_of_the_text() -> None:
    prompt = shown(Starter().open(Path()), "image", "image")
    assert len(images_of(prompt)) == 2
    assert "Question:" in text_of(prompt)


def test_what_the_files_of_a_dataset_show_goes_before_until_a_table_is_changed() -> None:
    source = WithFiles()
    assert images_of(shown(source, "image", "image")) == (OWN, OWN)
    both = shown(source, "html", "image_text")
    assert (images_of(both), text_of(both).count("<upstream/>")) == ((OWN, OWN), 2)
    assert images_of(shown(source, "csv", "image_text")) == (OWN, OWN)
    changed = shown(source, "image", "image", "transpose")
    assert OWN not in images_of(changed)
    assert len(images_of(changed)) == 2
    assert "<upstream/>" not in text_of(shown(source, "html", "text", "transpose"))


def test_a_large_table_is_shown_only_to_strategies_with_programs(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(rendering, "MOST_CELLS", 1)
    source = Starter().open(Path())
    with pytest.raises(TableError, match="more than 1 are asked about only with"):
        shown(source, "csv", "text")
    assert "Columns:" in text_of(shown(source, "columns", "text"))
