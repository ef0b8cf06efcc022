"""Strategies: the conversion of a case to model requests and an answer."""

from pytest_tablebench.strategies._asking import PARSED, asked_about, texts_of
from pytest_tablebench.strategies._icot import ICoT
from pytest_tablebench.strategies._programs import PoT
from pytest_tablebench.strategies._prompt import (
    Demonstration,
    DemonstrationPool,
    assemble,
    published_turns,
)
from pytest_tablebench.strategies._tcot import TCoT
from pytest_tablebench.strategies._tools import TOOLS, Tool, Tools, ToolTables
from pytest_tablebench.strategies._treethinker import TreeThinker
from pytest_tablebench.strategies.base import (
    Conversation,
    Direct,
    Said,
    Strategy,
    Task,
    answer_place,
    named_strategy,
    rounds_of,
)

__all__ = [
    "PARSED",
    "STRATEGIES",
    "TOOLS",
    "Conversation",
    "Demonstration",
    "DemonstrationPool",
    "Direct",
    "Said",
    "Strategy",
    "Task",
    "Tool",
    "ToolTables",
    "Tools",
    "answer_place",
    "asked_about",
    "assemble",
    "named_strategy",
    "published_turns",
    "rounds_of",
    "texts_of",
]

STRATEGIES: tuple[Strategy, ...] = (Direct(), TCoT(), PoT(), ICoT(), TreeThinker(), Tools())
"""The built-in strategies."""
