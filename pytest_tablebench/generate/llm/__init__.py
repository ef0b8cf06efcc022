"""Questions from tables by a model; two discriminators mark each, and only full marks are kept.

What is asked is data (`subtasks.toml`), what models are told too (`en.toml`, `zh.toml`).
"""

from pytest_tablebench.generate.llm._generate import LlmGenerator, Tell
from pytest_tablebench.generate.llm._prompts import SUBTASKS

__all__ = ["SUBTASKS", "LlmGenerator", "Tell"]
