"""The built-in model `tablebench/ocr`, which reads pictures and answers by matching words."""

from __future__ import annotations

from collections.abc import Iterator
from functools import cached_property, lru_cache
from importlib.metadata import version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import ModelError, SettingsError, missing_package
from pytest_tablebench.models.base import Reply, Request
from pytest_tablebench.models.lexical._model import answer
from pytest_tablebench.models.ocr._grid import OcrGrid, Word, grid_of
from pytest_tablebench.serializers.content import Content, Image

_LARGEST = 2048
"""Pixels of the longer side; larger pictures are scaled down before text is searched."""

_REMEMBERED = 64


class OcrModel:
    """Answer questions about tables in pictures: offline, deterministic, often wrong.

    rapidocr recognizes the words, and their positions alone determine the cells. Then
    `tablebench/lexical` answers from a Markdown table in place of the picture. Its scores are a
    floor for comparison with models that read pictures.

    Raises:
        SettingsError: the packages that read pictures are not installed.
    """

    sees = True
    at_once = 1

    def __init__(self) -> None:
        if not all(map(find_spec, ("rapidocr", "onnxruntime"))):
            raise SettingsError(
                missing_package("tablebench/ocr", "rapidocr and onnxruntime", "ocr")
            )
        self._read = lru_cache(_REMEMBERED)(self._read_image)

    @property
    def identity(self) -> str:
        """A text that identifies the model in the keys of answers: releases read differently."""
        return " ".join(f"{name}=={version(name)}" for name in ("rapidocr", "pytest-tablebench"))

    def complete(self, request: Request) -> Reply:
        """Answer one request. Raises `ModelError` for a picture that cannot be read."""
        prompt = "\n".join(self._text(message.content) for message in request.messages)
        text = answer(prompt)
        return Reply(text, finish_reason="stop", cost_usd=0.0)

    def _text(self, content: Content) -> str:
        """Return content as text; pictures that continue a table are joined with it."""
        if isinstance(content, str):
            return content
        parts: list[str | OcrGrid] = []
        for part in content:
            if isinstance(part, str):
                parts.append(part)
                continue
            grid = self._read(part)
            before = next((n for n, earlier in enumerate(parts) if _continues(earlier, grid)), None)
            if before is None:
                parts.append(grid)
            else:
                first = parts[before]
                assert isinstance(first, OcrGrid)  # noqa: S101 - `_continues`
                parts[before] = OcrGrid(first.above, (*first.rows, *grid.rows[1:]))
        return "".join(part if isinstance(part, str) else _written(part) for part in parts)

    def _read_image(self, image: Image) -> OcrGrid:
        try:
            words = self._reader(image.data)
        except Exception as error:  # the library's, for untrusted bytes
            raise ModelError(
                f"tablebench/ocr cannot read a picture ({type(error).__name__})",
                reason="bad_request",
            ) from None
        return grid_of(_words(words))

    @cached_property
    def _reader(self) -> Any:
        """The engine that finds and reads words. Its package contains the models."""
        import rapidocr

        models = Path(rapidocr.__file__).parent / "models"
        params = {
            "Global.log_level": "error",
            "Global.use_cls": False,  # no line is upside down
            "Det.model_path": str(_one(models, "*_det_*.onnx")),
            "Rec.model_path": str(_one(models, "*_rec_*.onnx")),
            "Det.limit_type": "max",
            "Det.limit_side_len": _LARGEST,
            # Spinning threads are many times slower on busy processors.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
        return rapidocr.RapidOCR(params=params)


def _one(models: Path, pattern: str) -> Path:
    files = sorted(models.glob(pattern))
    if not files:
        raise FileNotFoundError(pattern)
    return files[0]


def _words(words: Any) -> Iterator[Word]:
    """Yield rapidocr's result as words with upright boxes."""
    if words.boxes is None or words.txts is None:
        return
    for box, text in zip(words.boxes, words.txts, strict=True):
        xs, ys = [float(x) for x, _ in box], [float(y) for _, y in box]
        yield Word(str(text), min(xs), min(ys), max(xs), max(ys))


def _continues(part: str | OcrGrid, grid: OcrGrid) -> bool:
    """Return whether both tables have the same header, as parts of a large table do."""
    return isinstance(part, OcrGrid) and part.rows[:1] == grid.rows[:1] != ()


def _written(grid: OcrGrid) -> str:
    """Return a table in Markdown, after the lines above it."""
    if not grid.rows:
        return "\n".join(grid.above)
    header, *rows = grid.rows
    lines = [header, ("---",) * len(header), *rows]
    table = ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in lines]
    return "\n" + "\n".join([*grid.above, *table]) + "\n"
