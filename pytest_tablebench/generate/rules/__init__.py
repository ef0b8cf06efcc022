"""Questions from any table by rule, of every table skill, in English and Chinese.

The recipes are in `recipes.toml`, the wordings in `en.toml` and `zh.toml`. An operation is an entry
in each of `_draw`, `_basics` or `_answers`, and `_wording`.
"""

from pytest_tablebench.generate.pair import Amount, Other, Pair, Plan, PlanStep, Texts
from pytest_tablebench.generate.question_maker import LANGUAGES
from pytest_tablebench.generate.rules._generate import (
    RECIPES,
    SKILLS,
    RuleGenerator,
)
from pytest_tablebench.generate.rules._sheet import ParsedSheet

__all__ = [
    "LANGUAGES",
    "RECIPES",
    "SKILLS",
    "Amount",
    "Other",
    "Pair",
    "ParsedSheet",
    "Plan",
    "PlanStep",
    "RuleGenerator",
    "Texts",
]
