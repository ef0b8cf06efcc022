"""Pictures as the run draws them, read with rapidocr's models: no test of these needs a network."""

from __future__ import annotations

import pytest

from pytest_tablebench.errors import ModelError, SettingsError
from pytest_tablebench.models import Message, Request
from pytest_tablebench.models.ocr import OcrModel, _model
from pytest_tablebench.serializers.content import Image
from pytest_tablebench.serializers.picture import to_png
from pytest_tablebench.tables.table import Table

CLINICS = Table(
    ("Clinic", "Share of residents", "Founded"),
    (
        ("Chapel Hill", "42.5%", "1969"),
        ("Ashby Court", "17.0%", "2023"),
        ("North Gate on the long road along the river", "9.1%", "1988"),
    ),
)


def test_what_reads_is_not_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_model, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'pytest-tablebench\[ocr\]'"):
        OcrModel()


def asked(*content: str | Image) -> Request:
    return Request("tablebench/ocr", (Message("user", content),))


def test_tables_in_pictures_are_read_and_asked_about() -> None:
    pytest.importorskip("rapidocr")
    model = OcrModel()
    picture = Image("image/png", to_png(CLINICS))
    question = "Question: Which Clinic has the highest value for Share of residents?\nAnswer:"
    prompt = "Table: ", picture, f"\n\n{question}"
    assert model.complete(asked(*prompt)).text == "Chapel Hill"
    assert model._read(picture).rows == (CLINICS.header, *CLINICS.rows)

    # A large table is shown in parts, each with its header: they are one table.
    rest = Table(CLINICS.header, (("Mill Lane", "55.0%", "1901"),))
    parts = "Table: ", picture, "\n", Image("image/png", to_png(rest)), f"\n\n{question}"
    assert model.complete(asked(*parts)).text == "Mill Lane"

    broken = Image("image/png", picture.data[:60])
    with pytest.raises(ModelError, match="cannot read a picture") as caught:
        model.complete(asked("Table: ", broken, question))
    assert caught.value.reason == "bad_request"
