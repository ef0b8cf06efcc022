"""The cases of a run for its page, packed while calls are under way."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from sys import intern
from typing import TYPE_CHECKING, Any

from pytest_tablebench.config.axes import NAMED
from pytest_tablebench.reports.html._details import (
    DETAIL_BUDGET,
    DETAILS,
    REPLY_LIMIT,
    excerpt,
    packed_details,
)
from pytest_tablebench.reports.html._texts import TextPacker
from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import TEXTS, ExampleText, PromptText, TranscriptText

if TYPE_CHECKING:
    from pytest_tablebench.results.message import CaseMessage, CaseRecord

_SHARED = frozenset(
    {
        *("model", "benchmark", "dataset", "example_id", *(axis.name for axis in NAMED)),
        *("outcome", "metric", "part", "reason", "cluster"),
    }
)
"""Fields whose texts many records share."""

_MAPPINGS = 1024
"""The number of small mappings that records may share at a time."""

MOST_CHARACTERS = 50_000_000
"""Replies and predictions of more characters are not kept in memory during a run."""


class PageAhead:
    """What the page of a run shows of its cases, packed as they are recorded.

    It is of use only if each case was recorded once, and its replies fit in memory and on the page.
    `folder` is the run folder, without a record so far.
    """

    def __init__(self, folder: Path) -> None:
        self.records: list[Record] = []
        """Excerpts of the records, in the order of the file."""
        self.texts = TextPacker()
        self.cut_replies = 0
        """The number of replies that are longer than the page shows."""
        self._blocks: dict[str, str] = {}
        self._cases: set[str] = set()
        self._digests: set[str] = set()
        self._mappings: dict[str, Any] = {}
        self._characters = self._size = 0
        # An earlier, interrupted run has left texts in the folder.
        self._is_usable = not (folder / TEXTS).exists()

    def add(self, message: CaseMessage, record: CaseRecord | None) -> None:
        """Add what an item reported; `record` is the record that was written for it."""
        if not self._is_usable or record is None:
            return
        # As a reader of the file gets it.
        cut_record = excerpt(Record.from_line(record.line))
        self.cut_replies += len(cut_record.raw or "") > REPLY_LIMIT
        self._characters += sum(
            len(t) for t in (cut_record.raw, cut_record.prediction) if isinstance(t, str)
        )
        if cut_record.case_id in self._cases or self._characters > MOST_CHARACTERS:
            self._give_up()
            return
        self._cases.add(cut_record.case_id)
        self.records.append(cut_record)
        self._add_texts(message, cut_record)
        if len(self.records) % DETAILS == 0:
            self._pack()

    def _pack(self) -> None:
        start = len(self._blocks) * DETAILS
        block = packed_details(self.records[start:])
        self._size += len(block)
        self._blocks[f"d{len(self._blocks)}"] = block
        self.records[start:] = map(self._without_details, self.records[start:])

    def _without_details(self, record: Record) -> Record:
        """Return what figures and the index of the page need of a record, in little memory."""
        changes: dict[str, Any] = {
            name: intern(value)
            for name, value in vars(record).items()
            if name in _SHARED and isinstance(value, str)
        }
        for name in ("parts", "checks", "tags"):
            values = getattr(record, name)
            changes[name] = self._mappings.setdefault(repr(values), values)
        if len(self._mappings) > _MAPPINGS:
            self._mappings.clear()
        return replace(record, **changes, raw=None, steps=())

    def _add_texts(self, message: CaseMessage, record: Record) -> None:
        is_right = record.outcome == "right"
        if message.prompt is not None and self._is_new(message.prompt[0]):
            self.texts.add(PromptText(*message.prompt), is_right=is_right)
        if message.transcript is not None and self._is_new(message.transcript[0]):
            digest, turns = message.transcript
            pairs = tuple((kind, content) for kind, content in turns)
            self.texts.add(TranscriptText(digest, pairs), is_right=is_right)
        if message.example is not None and self._is_new(message.example[0]):
            key, question, tables = message.example
            values = json.loads(json.dumps([{"title": None, **t} for t in tables], default=str))
            self.texts.add_example(ExampleText(key, question, tuple(values)), record)

    def _is_new(self, name: str) -> bool:
        if name in self._digests:
            return False
        self._digests.add(name)
        return True

    def _give_up(self) -> None:
        self._is_usable = False
        self.records, self.texts, self._blocks = [], TextPacker(), {}

    def is_whole(self, count: int) -> bool:
        """Return whether it has all of so many cases, and they fit; nothing can be added then."""
        if not self._is_usable or len(self.records) != count:
            return False
        if len(self._blocks) * DETAILS < count:
            self._pack()
        return self._size <= DETAIL_BUDGET

    def details(self) -> tuple[dict[str, str], int]:
        """Return the blocks of details, and the number of characters to which replies are cut."""
        return self._blocks, REPLY_LIMIT
