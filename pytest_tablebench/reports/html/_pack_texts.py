"""The tables and prompts of a run as blocks inside the page."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

from pytest_tablebench.reports.html._details import deflated
from pytest_tablebench.reports.html._tables import is_cut, shown_example
from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import (
    ExampleText,
    PromptText,
    Text,
    TranscriptText,
    example_key,
)

TABLES, PROMPTS = 64, 24
"""Tables, and prompts, in a block."""

_TABLE_BUDGET = 6_500_000
_WRONG_PROMPT_BUDGET, _RIGHT_PROMPT_BUDGET = 9_000_000, 5_000_000
_TURNS, _TURN_LIMIT = 40, 20_000
_PROMPT_LIMIT = 60_000


@dataclass
class TextPlaces:
    """Questions by example; places of tables and prompts as in `_Blocks`."""

    questions: dict[tuple[str, str], str] = field(default_factory=dict)
    tables: dict[str, int] = field(default_factory=dict)
    prompts: dict[str, int] = field(default_factory=dict)
    tables_cut: int = 0
    prompts_cut: int = 0
    tables_left_out: int = 0
    prompts_left_out: int = 0


class _Blocks:
    """Collects values into blocks until a budget is used up, and records their places.

    Arguments:
        letter: first letter of the ids of the blocks.
        size: values in a block.
        budget: characters of all these blocks.
        blocks: receives the blocks by id.
        places: receives, by a value's key, its block's number times `size` plus its place there.
    """

    def __init__(
        self, letter: str, size: int, budget: int, blocks: dict[str, str], places: dict[str, int]
    ) -> None:
        self._letter, self._size, self._budget = letter, size, budget
        self._blocks, self._places = blocks, places
        self._waiting: dict[str, Any] = {}
        self.left_out = 0

    def add(self, key: str, value: Any) -> None:
        if self._budget <= 0:
            self.left_out += 1
            return
        self._waiting[key] = value
        if len(self._waiting) == self._size:
            self.close()

    def close(self) -> None:
        """Store the waiting values if they still fit."""
        if not self._waiting:
            return
        block = deflated(list(self._waiting.values()))
        self._budget -= len(block)
        if self._budget < 0:
            self.left_out += len(self._waiting)
        else:
            number = sum(name.startswith(self._letter) for name in self._blocks)
            self._blocks[f"{self._letter}{number}"] = block
            for place, key in enumerate(self._waiting, number * self._size):
                self._places[key] = place
        self._waiting = {}


class TextPacker:
    """Packs texts one by one. Prompts of cases that are not right have their own budget."""

    def __init__(self) -> None:
        self.blocks: dict[str, str] = {}
        """The blocks by id."""
        self._places = places = TextPlaces()
        self._tables = _Blocks("t", TABLES, _TABLE_BUDGET, self.blocks, places.tables)
        self._wrong, self._right = (
            _Blocks("q", PROMPTS, budget, self.blocks, places.prompts)
            for budget in (_WRONG_PROMPT_BUDGET, _RIGHT_PROMPT_BUDGET)
        )

    def add_example(self, example: ExampleText, record: Record) -> None:
        """Add the question and tables of a record."""
        places = self._places
        places.questions.setdefault((record.dataset, record.example_id), example.question)
        places.tables_cut += is_cut(example)
        self._tables.add(example.id, shown_example(example))

    def add(self, text: PromptText | TranscriptText, *, is_right: bool) -> None:
        """Add a prompt or a transcript; `is_right`: all its cases are right."""
        places, target = self._places, self._right if is_right else self._wrong
        if isinstance(text, TranscriptText):
            turns = text.turns[:_TURNS]
            places.prompts_cut += len(text.turns) > _TURNS or any(
                len(content) > _TURN_LIMIT for _, content in turns
            )
            target.add(text.digest, {"turns": [_turn(*turn) for turn in turns]})
        else:
            places.prompts_cut += len(text.text) > _PROMPT_LIMIT
            shown = {"text": text.text[:_PROMPT_LIMIT], "length": len(text.text)}
            target.add(text.digest, shown)

    def close(self) -> TextPlaces:
        """Pack the last texts; return the places of all, and what did not fit."""
        for part in (self._tables, self._wrong, self._right):
            part.close()
        self._places.tables_left_out = self._tables.left_out
        self._places.prompts_left_out = self._wrong.left_out + self._right.left_out
        return self._places


def packed_texts(records: Sequence[Record], texts: Iterable[Text]) -> TextPacker:
    """Pack the texts of these records."""
    keys = {example_key(r.dataset, r.example_id, r.perturbation): r for r in records}
    wrong = {
        digest
        for r in records
        if r.outcome != "right"
        for digest in (r.prompt_digest, r.transcript)
    }
    digests = {digest for r in records for digest in (r.prompt_digest, r.transcript)}
    packer = TextPacker()
    for text in texts:
        if isinstance(text, ExampleText):
            if (record := keys.get(text.id)) is not None:
                packer.add_example(text, record)
        elif text.digest in digests:
            packer.add(text, is_right=text.digest not in wrong)
    return packer


def _turn(role: str, content: str) -> dict[str, Any]:
    return {"role": role, "text": content[:_TURN_LIMIT], "length": len(content)}
