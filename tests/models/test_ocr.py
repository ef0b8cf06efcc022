"""Pictures drawn by a run are read with rapidocr, without network."""

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


def test_a_missing_rapidocr_is_named_with_its_installation(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(_model, "find_spec", lambda name: None)
    with pytest.raises(SettingsError, match=r"pip install 'pytest-tablebench\[ocr\]'"):
        OcrModel()


def request_of(*content: str | Image) -> Request:
    return Request("tablebench/ocr", (Message("user", content),))


def test_tables_in_pictures_are_read_and_answer_questions() -> None:
    pytest.importorskip("rapidocr")
    model = OcrModel()
    picture = Image("image/png", to_png(CLINICS))
    question = "Question: Which Clinic has the highest value for Share of residents?\nAnswer:"
    prompt = "Table: ", picture, f"\n\n{question}"
    assert model.complete(request_of(*prompt)).text == "Chapel Hill"
    assert model._read(picture).rows == (CLINICS.header, *CLINICS.rows)

    # A large table is drawn in parts with the same header; they are read as one table.
    rest = Table(CLINICS.header, (("Mill Lane", "55.0%", "1901"),))
    parts = "Table: ", picture, "\n", Image("image/png", to_png(rest)), f"\n\n{question}"
    assert model.complete(request_of(*parts)).text == "Mill Lane"

    broken = Image("image/png", picture.data[:60])
    with pytest.raises(ModelError, match="cannot read a picture") as caught:
        model.complete(request_of("Table: ", broken, question))
    assert caught.value.reason == "bad_request"
