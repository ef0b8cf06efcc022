"""A model of another package: it reads tables in pictures, and answers as `tablebench/lexical`."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from importlib.metadata import version
from pathlib import Path
from statistics import median
from typing import Any

from pytest_tablebench.extend import (
    Image,
    LexicalModel,
    Message,
    ModelError,
    Reply,
    Request,
    Settings,
)

APART = 0.8
"""The least vertical distance of two rows' middles, in heights of their words' boxes.

rapidocr's boxes are half as high again as a line: lines of one cell are 0.7 apart, rows 1.
"""

Lines = list[tuple[str, ...]]
"""The lines of a picture: single cells above the table, then the table, the header first."""


@dataclass(frozen=True)
class Word:
    """A recognized text and its box in pixels; y grows downwards."""

    text: str
    left: float
    top: float
    right: float
    bottom: float

    @property
    def middle(self) -> float:
        """The vertical middle."""
        return (self.top + self.bottom) / 2

    def shared(self, left: float, right: float) -> float:
        """Return the width shared with a column; below 0: the distance from it."""
        return min(self.right, right) - max(self.left, left)


class OcrModel:
    """Answers questions about tables in pictures: offline, deterministic, often wrong.

    rapidocr recognizes the words, and their positions alone determine the cells. Its scores are a
    floor for comparison with models that read pictures.
    """

    sees = True
    at_once = 1

    def __init__(self) -> None:
        self._answers = LexicalModel()
        self.lines = lru_cache(64)(self._lines)

    @property
    def identity(self) -> str:
        """A text that identifies the model in the keys of answers: releases read differently."""
        return " ".join(f"{name}=={version(name)}" for name in ("rapidocr", "pytest-tablebench"))

    def complete(self, request: Request) -> Reply:
        """Answer one request. Raises `ModelError` for a picture that cannot be read."""
        text = "\n".join(map(self._text, request.messages))
        return self._answers.complete(Request(request.model, (Message("user", text),)))

    def _text(self, message: Message) -> str:
        """Return a message as text; a picture that continues a table is joined with it."""
        if isinstance(message.content, str):
            return message.content
        parts: list[str | Lines] = []
        tables: dict[tuple[str, ...], Lines] = {}
        for part in message.content:
            if isinstance(part, str):
                parts.append(part)
                continue
            if not (lines := self.lines(part)):
                continue
            header = next(line for line in lines if len(line) == len(lines[-1]))
            if header in tables:
                tables[header] += lines[lines.index(header) + 1 :]
            else:
                tables[header] = lines[:]
                parts.append(tables[header])
        return "".join(part if isinstance(part, str) else _markdown(part) for part in parts)

    def _lines(self, image: Image) -> Lines:
        try:
            words = self._reader(image.data)
        except Exception as error:  # the library's, for untrusted bytes
            raise ModelError(
                f"rapidocr cannot read a picture ({type(error).__name__})", reason="bad_request"
            ) from None
        return lines_of(_words(words))

    @cached_property
    def _reader(self) -> Any:
        """The engine that finds and reads words. Its package contains the models."""
        import rapidocr

        models = Path(rapidocr.__file__).parent / "models"
        params = {
            "Global.log_level": "error",
            "Global.use_cls": False,  # no line is upside down
            "Det.model_path": str(next(models.glob("*_det_*.onnx"))),
            "Rec.model_path": str(next(models.glob("*_rec_*.onnx"))),
            "Det.limit_type": "max",
            "Det.limit_side_len": 2048,  # pixels; larger pictures are scaled down
            # Spinning threads are many times slower on busy processors.
            "EngineConfig.onnxruntime.intra_op_num_threads": 1,
            "EngineConfig.onnxruntime.inter_op_num_threads": 1,
        }
        return rapidocr.RapidOCR(params=params)


def make(model: str, settings: Settings) -> OcrModel:
    """Return the model; callers import this function, so they read the pictures."""
    return OcrModel()


def pytest_tablebench_register_provider(register):
    register("ocr", make)


def _words(words: Any) -> Iterator[Word]:
    """Yield rapidocr's result as words with upright boxes."""
    if words.boxes is None or words.txts is None:
        return
    for box, text in zip(words.boxes, words.txts, strict=True):
        xs, ys = [float(x) for x, _ in box], [float(y) for _, y in box]
        yield Word(str(text), min(xs), min(ys), max(xs), max(ys))


def lines_of(words: Iterable[Word]) -> Lines:
    """Return the lines that words form.

    Words at the same height form a row. So do lines that follow closely, because a cell may have
    several lines. The rows with the most cells define the columns. Single cells above them are not
    part of the table.
    """
    cells = [_cells(row) for row in _rows(words)]
    most = max(map(len, cells), default=0)
    full = [row for row in cells if len(row) == most]
    columns = [
        (min(c.left for c in column), max(c.right for c in column))
        for column in zip(*full, strict=True)
    ]
    begin = next((n for n, row in enumerate(cells) if len(row) > 1 or most == 1), 0)
    above = [(row[0].text,) for row in cells[:begin]]
    return [*above, *(_placed(row, columns) for row in cells[begin:])]


def _rows(words: Iterable[Word]) -> list[list[Word]]:
    """Split words into rows, from the top, at vertical distances above that of lines in a cell."""
    rows: list[list[Word]] = []
    ordered = sorted(words, key=lambda word: (word.middle, word.left))
    apart = APART * median(word.bottom - word.top for word in ordered) if ordered else 0.0
    for before, word in zip([None, *ordered], ordered, strict=False):
        if before is None or word.middle - before.middle > apart:
            rows.append([])
        rows[-1].append(word)
    return rows


def _cells(row: Iterable[Word]) -> list[Word]:
    """Join the lines of each cell in a row; return the cells from the left."""
    cells: list[Word] = []
    for word in row:  # from the top
        width = word.right - word.left
        for n, cell in enumerate(cells):
            # The boxes of neighbours may overlap a little.
            if word.shared(cell.left, cell.right) > 0.5 * min(width, cell.right - cell.left):
                left, right = min(cell.left, word.left), max(cell.right, word.right)
                cells[n] = Word(f"{cell.text} {word.text}", left, cell.top, right, word.bottom)
                break
        else:
            cells.append(word)
    return sorted(cells, key=lambda cell: cell.left)


def _placed(row: Sequence[Word], columns: Sequence[tuple[float, float]]) -> tuple[str, ...]:
    """Put each cell of a row into the column that it overlaps most, or else the nearest."""
    texts = [""] * len(columns)
    for cell in row:
        shared = [cell.shared(left, right) for left, right in columns]
        column = shared.index(max(shared))
        texts[column] = f"{texts[column]} {cell.text}".strip()
    return tuple(texts)


def _markdown(lines: Lines) -> str:
    """Return a table in Markdown, after the lines above it."""
    above = [line[0] for line in lines if len(line) < len(lines[-1])]
    header, *rows = lines[len(above) :]
    table = [header, ("---",) * len(header), *rows]
    texts = ["| " + " | ".join(cell.replace("|", "/") for cell in line) + " |" for line in table]
    return "\n" + "\n".join([*above, *texts]) + "\n"
