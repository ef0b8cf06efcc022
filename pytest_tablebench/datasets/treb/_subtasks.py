"""What is known of TReB's subtasks, as data (spec: treb.md sections 1 and 5)."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from dataclasses import dataclass
from functools import lru_cache
from importlib.resources import files
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Subtask:
    """One subtask.

    Arguments:
        name: as upstream writes it.
        skill: its short name.
        form: what an answer looks like.
        wordings: how the answer is asked for, in English and in Chinese.
        modes: the strategies by which upstream asks it.
        scores: what an answer is scored by.
        main, judged: the score that counts without a judge, and with one.
        thresholds: from which a case is right, by the score that counts.
        system, remark: texts in place of a mode's system message, and after it.
        titles: whether the tables' titles follow the question.
        order: whether answers speak of rows or columns by their places.
        is_listed: whether it has an entry of its own, and not the defaults.
    """

    name: str
    skill: str
    form: str
    wordings: tuple[str, str]
    modes: tuple[str, ...]
    scores: tuple[str, ...]
    main: str
    judged: str
    thresholds: Mapping[str, float]
    system: str
    remark: str
    titles: bool
    order: bool
    is_listed: bool

    @property
    def has_tables(self) -> bool:
        """Whether its samples come with tables; those of natural language have none."""
        return self.skill != "NLU"


def dataset_name(subtask: str) -> str:
    """Return the name of a subtask's dataset: `treb_` and the subtask in snake case."""
    return "treb_" + re.sub(r"[^a-z0-9]+", "_", subtask.lower()).strip("_")


@lru_cache(maxsize=1)
def _data() -> Mapping[str, Any]:
    text = (files(__package__) / "subtasks.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def skills() -> Mapping[str, str]:
    """Return the skills by their short names, in the order of the paper."""
    names: Mapping[str, str] = _data()["skills"]
    return names


def known_subtasks() -> tuple[Subtask, ...]:
    """Return the subtasks that have an entry."""
    return tuple(map(subtask_of, _data()["subtasks"]))


def subtask_of(name: str) -> Subtask:
    """Return what is known of a subtask; the defaults for one without an entry."""
    data = _data()
    entry = data["subtasks"].get(name)
    family = [skill for start, skill in data["families"].items() if name.startswith(start)]
    fields = {**data["defaults"], **({"skill": family[0]} if family else {}), **(entry or {})}
    wordings = data["forms"][fields["form"]]
    fields |= {key: tuple(fields[key]) for key in ("modes", "scores")}
    return Subtask(
        name=name,
        **fields,
        wordings=(wordings[0], wordings[1]),
        thresholds=data["thresholds"],
        is_listed=entry is not None,
    )
