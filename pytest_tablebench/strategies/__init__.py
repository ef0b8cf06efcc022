"""Strategies: how one case becomes model requests."""

from pytest_tablebench.strategies._base import (
    Conversation,
    Direct,
    Strategy,
    Task,
    named_strategy,
    way_of,
)
from pytest_tablebench.strategies._demonstrations import DemonstrationPool, choose, input_fields
from pytest_tablebench.strategies._prompt import Demonstration, assemble

__all__ = [
    "Conversation",
    "Demonstration",
    "DemonstrationPool",
    "Direct",
    "Strategy",
    "Task",
    "assemble",
    "choose",
    "input_fields",
    "named_strategy",
    "way_of",
]
