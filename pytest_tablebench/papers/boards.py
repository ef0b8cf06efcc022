"""The tables over all benchmarks: runs with published rows, and the judges' agreement."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial

from pytest_tablebench.papers._ablations import realhit_ablations
from pytest_tablebench.papers._judges import JUDGES, judge_agreement
from pytest_tablebench.papers._leaderboard import leaderboard, leaderboard_beside
from pytest_tablebench.papers._other import other_leaderboard
from pytest_tablebench.papers._realhit import realhit_leaderboard, realhit_means
from pytest_tablebench.papers._skills import treb_leaderboard
from pytest_tablebench.papers._torr_spread import torr_spread
from pytest_tablebench.papers.realhit_tables import Marks, realhit_tables
from pytest_tablebench.papers.text import PaperTable
from pytest_tablebench.results.run import Run

Maker = Callable[[Sequence[Run]], PaperTable | None]

BOARDS: Mapping[str, Maker] = {
    "leaderboard": leaderboard,
    "leaderboard_beside": leaderboard_beside,
    "torr_spread": torr_spread,
    "treb_leaderboard": treb_leaderboard,
    "realhit_leaderboard": realhit_leaderboard,
    "realhit_means": realhit_means,
    "realhit_ablations": realhit_ablations,
    "realhit_tables": realhit_tables,
    "other_leaderboard": other_leaderboard,
    JUDGES: judge_agreement,
}
"""The maker of each table, by the stem of its files; it returns None without data."""


def boards_of(runs: Sequence[Run], marks: Marks | None = None) -> list[PaperTable]:
    """Return the tables for which the runs have data.

    `marks` are a model's marks of the structure of tables.
    """
    makers: dict[str, Maker] = {**BOARDS, "realhit_tables": partial(realhit_tables, marks=marks)}
    return [table for make in makers.values() if (table := make(runs)) is not None]
