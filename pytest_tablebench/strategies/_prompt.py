"""Assembly of a prompt with its demonstrations (spec: torr.md section 4)."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Hashable, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets import Example, Pool, PromptParts, text_key
from pytest_tablebench.errors import DataError, TableError
from pytest_tablebench.serializers.content import Content, Message, images_of
from pytest_tablebench.tables.table import Table
from pytest_tablebench.util.seeds import seeded_random


def input_fields(example: Example) -> dict[str, Any]:
    """Return the example's inputs as plain values, the basis of identity and draws."""
    return {
        name: value.as_mapping() if isinstance(value, Table) else value
        for name, value in example.inputs.items()
    }


class DemonstrationPool:
    """A pool under one perturbation: duplicates removed, items loaded and perturbed on demand.

    Only items with the same text inputs can be duplicates or equal to the example, so only their
    tables are loaded. An item that cannot be loaded or perturbed equals no other. It stays in the
    pool, and the examples that draw it get its error.
    """

    def __init__(self, pool: Pool, change: Callable[[Table], Table]) -> None:
        # The serializers of an example need the same few items one after the other.
        self._loaded = lru_cache(maxsize=256)(lambda index: pool[index].with_tables(change))
        self._by_key: dict[Hashable, list[int]] = {}
        for index in range(len(pool)):
            self._by_key.setdefault(pool.key(index), []).append(index)
        self._dropped: set[int] = set()
        for group in self._by_key.values():
            seen: set[str] = set()
            for index in group if len(group) > 1 else ():
                fields = self._fields(index)
                text = json.dumps(fields, sort_keys=True)
                if fields is not None and text in seen:
                    self._dropped.add(index)
                seen.add(text)
        self._unique = [index for index in range(len(pool)) if index not in self._dropped]

    def _fields(self, index: int) -> dict[str, Any] | None:
        """Return an item's inputs, or None if they cannot be loaded."""
        try:
            return input_fields(self[index])
        except (DataError, TableError):
            return None

    def __getitem__(self, index: int) -> Example:
        return self._loaded(index)

    def draw(self, example: Example, count: int, *, seed: int = 0) -> list[int]:
        """Return the indices of a (perturbed) example's demonstrations, in prompt order.

        There are fewer than `count` if the pool has no more.
        """
        if not count:
            return []
        fields = input_fields(example)
        same = {
            index
            for index in self._by_key.get(text_key(example), ())
            if index not in self._dropped and self._fields(index) == fields
        }
        candidates = (
            [index for index in self._unique if index not in same] if same else self._unique
        )
        draw = seeded_random(fields, seed=42 + seed)
        return draw.sample(candidates, min(count, len(candidates)))


_SOFT = "\\N"
"""The reference's soft newline: a line end that removes the line ends right before it."""


@dataclass(frozen=True)
class Demonstration:
    """A worked example: its source text and the answer shown for it."""

    source: str
    target: str


def assemble(
    parts: PromptParts, demonstrations: Sequence[Demonstration] = (), *, compat: Compat = "fixed"
) -> str:
    """Return the prompt: instruction, demonstrations, source, target prefix.

    Pieces are joined by soft newlines. `reference` resolves them in the finished text, as the
    published code does. This also removes brackets, backslashes and a capital N at the end of a
    piece, and turns a backslash and N inside data into a line end. `fixed` removes only line ends.
    """
    instruction = parts.instruction
    if compat == "reference" and parts.reference_instruction is not None:
        instruction = parts.reference_instruction
    pieces = [instruction]
    opening = ""
    for demonstration in demonstrations:
        # Only its own two line ends separate a demonstration from what follows it.
        pieces.append(opening + demonstration.source)
        opening = f"{parts.target_prefix}{demonstration.target}\n\n"
    pieces += [opening + parts.source, parts.target_prefix]
    if compat == "reference":
        text = _SOFT + _SOFT.join(pieces)
        start = re.match(r"(?:\n|\\N)*\\N", text)
        return _join(text[start.end() if start else 0 :].split(_SOFT), "\n\\N()")
    # The soft newline that follows would remove line ends before the first text.
    while pieces and not pieces[0].strip("\n"):
        pieces.pop(0)
    return _join(pieces, "\n")


def published_turns(parts: PromptParts, prompt: Content, question: Content) -> tuple[Message, ...]:
    """Return the messages of the published scripts, which contain an invented reply.

    There are three turns. A prompt with pictures is one message, with the pictures at its end
    (spec: realhitbench.md section 2).

    Arguments:
        parts: the prompt's pieces.
        prompt: all pieces joined.
        question: the same without the instruction.
    """
    if pictures := images_of(prompt):
        text = "".join(part for part in prompt if isinstance(part, str))
        return (Message("user", (text, *pictures)),)
    reply = Message("assistant", parts.reference_reply)
    return Message("user", parts.instruction), reply, Message("user", question)


def _join(pieces: Sequence[str], swallowed: str) -> str:
    text = pieces[0] if pieces else ""
    for piece in pieces[1:]:
        text = f"{text.rstrip(swallowed)}\n{piece}"
    return text
