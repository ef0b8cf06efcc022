"""What an option is: a flag, its meaning, and what a difference in it does to a comparison."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial
from typing import Literal

from pytest_tablebench.config.reading import Reader


@dataclass(frozen=True)
class Differs:
    """What it means that two runs were given different values.

    Arguments:
        verdict: whether a comparison refuses such runs, notes it, or ignores it.
        meaning: what it says then; of what is ignored, why.
        unset: what no value stands for.
        values: what a report over several runs calls the values; empty where it does not tell.
        effect: what such a report says of them.
    """

    verdict: Literal["refuse", "note", "ignore"]
    meaning: str
    unset: str = "unknown"
    values: str = ""
    effect: str = ""


refuse, note = partial(Differs, "refuse"), partial(Differs, "note")
ignore = partial(Differs, "ignore")


@dataclass(frozen=True, kw_only=True)
class Option:
    """A command line option and the ini key of the same name (dashes become underscores).

    Arguments:
        flag, metavar, help: as the command line shows them.
        read: makes the value of `Settings` of what was given, and checks it.
        differs: what other values mean to whoever compares runs.
        setting: the field of `Settings` that holds it, where that has not the flag's name.
        recorded: where `run.json` has it, where that is not the field's name, with a dot for what
            lies inside; None where it does not.
        repeat: whether it can be given several times.
        bare: what it means without a value; None where it needs one.
        path: whether it names a folder: on the command line from where pytest starts, in an ini
            file from where that lies.
        shown: whether reports of a run name it.
        by_dataset: whether datasets may declare it, so that `run.json` keeps it for each.
        of_one_run: whether the parts of one run have to agree in it, though a comparison allows
            for other values.
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
        """The name under which `run.json` has it for each dataset."""
        return (self.recorded or "").rpartition(".")[2]

    @property
    def key(self) -> str:
        """The ini key, and the attribute the command line parser stores under."""
        return self.flag.lstrip("-").replace("-", "_")
