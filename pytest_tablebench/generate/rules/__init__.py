"""Questions from any table by rule, of every table skill, in English and Chinese.

The recipes are in `recipes.toml`, the wordings in `en.toml` and `zh.toml`. An operation is an entry
in each of `_draw`, `_basics` or `_answers`, and `_wording`.
"""

from pytest_tablebench.generate.rules._generate import RECIPES, SKILLS, RuleGenerator

__all__ = ["RECIPES", "SKILLS", "RuleGenerator"]
