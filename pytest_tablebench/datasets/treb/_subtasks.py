"""The descriptions of TReB's subtasks, read from `subtasks.toml` (treb.md sections 1 and 5)."""

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
        name: its name as upstream writes it.
        skill: the short name of its skill.
        form: the name of its answer form, a key of `forms` in `subtasks.toml`.
        wordings: the names of the answer in the prompt, in English and in Chinese.
        modes: the strategies that upstream runs it with.
        scores: the names of its scores.
        main, judged: the main score without a judge, and with one.
        thresholds: the pass threshold of each main score.
        system: the system message that replaces the mode's; "": the mode's.
        remark: the text after the system message.
        titles: whether the tables' titles follow the question.
        order: whether answers name rows or columns by their positions.
        is_listed: whether `subtasks.toml` has an entry for it; without one it uses the defaults.
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
        """Whether its samples have tables; natural language subtasks (NLU) have none."""
        return self.skill != "NLU"


def dataset_name(subtask: str) -> str:
    """Return the name of a subtask's dataset: `treb_` and the subtask in snake case."""
    return "treb_" + re.sub(r"[^a-z0-9]+", "_", subtask.lower()).strip("_")


@lru_cache(maxsize=1)
def _data() -> Mapping[str, Any]:
    text = (files(__package__) / "subtasks.toml").read_text(encoding="utf-8")
    return MappingProxyType(tomllib.loads(text))


def skills() -> Mapping[str, str]:
    """Return a mapping from the skills' short names to their names, in the paper's order."""
    names: Mapping[str, str] = _data()["skills"]
    return names


def known_subtasks() -> tuple[Subtask, ...]:
    """Return the subtasks with an entry in `subtasks.toml`."""
    return tuple(map(subtask_of, _data()["subtasks"]))


def subtask_of(name: str) -> Subtask:
    """Return the description of a subtask, with the defaults if it has no entry."""
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
