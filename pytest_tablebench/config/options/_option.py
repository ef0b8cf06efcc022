"""The declaration of an option: flag, meaning, and the effect of a difference on comparisons."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from pytest_tablebench.config.reading import Reader

Verdict = Literal["refuse", "note", "ignore"]

Kind = Literal[
    "model", "data", "selection", "prompt", "corrections", "judge", "parameter", "setting",
    "package", "server",
]  # fmt: skip
"""What a difference between runs is about. A selection is which cases a run asks."""


@dataclass(frozen=True)
class Differs:
    """The effect on a comparison if two runs have different values.

    Arguments:
        verdict: whether a comparison refuses such runs, notes it, or ignores it.
        meaning: the text of the comparison; for an ignored difference, the reason.
        unset: the text for a missing value.
        kind: what the option is about.
    """

    verdict: Verdict
    meaning: str
    unset: str = "unknown"
    kind: Kind = "setting"


refuse, note = partial(Differs, "refuse"), partial(Differs, "note")
ignore = partial(Differs, "ignore")


@dataclass(frozen=True, kw_only=True)
class Option:
    """A command line option and the ini key of the same name (dashes become underscores).

    Arguments:
        flag, metavar, help: as the command line shows them.
        read: parses and checks the value for `Settings`.
        differs: the effect of a difference on a comparison of runs.
        setting: the field of `Settings`; "" for the flag's name.
        recorded: the entry of `run.json`, with a dot for a nested one; "" for the field's name,
            None if it is not recorded.
        repeat: whether it can be given several times.
        bare: the value if none is given; None if a value is required.
        path: whether it is a folder, relative to pytest's working folder or to the ini file.
        shown: whether reports of a run name it.
        by_dataset: whether datasets may declare it, so that `run.json` records it for each.
        rare: whether few users need it, so that the help lists it last.
        of_one_run: whether all parts of one run must agree in it, though a comparison allows
            different values.
    """

    flag: str = field(kw_only=False)
    metavar: str = field(kw_only=False)
    help: str = field(kw_only=False)
    read: Reader
    differs: Differs
    setting: str = ""
    recorded: str | None = ""
    repeat: bool = False
    bare: str | None = None
    path: bool = False
    shown: bool = False
    by_dataset: bool = False
    rare: bool = False
    of_one_run: bool = False

    def __post_init__(self) -> None:
        if not self.setting:
            object.__setattr__(self, "setting", self.key.removeprefix("bench_"))
        if self.recorded == "":
            object.__setattr__(self, "recorded", self.setting)

    @property
    def switch(self) -> bool:
        """Whether it takes no value."""
        return not self.metavar

    @property
    def entry(self) -> str:
        """The name of its entry for each dataset in `run.json`."""
        return (self.recorded or "").rpartition(".")[2]

    @property
    def key(self) -> str:
        """The ini key, and the attribute of parsed options."""
        return self.flag.lstrip("-").replace("-", "_")
