"""The built-in model `tablebench/lexical`, which answers by matching words.

`rules` has the rules that `tablebench audit` shares.
"""

from pytest_tablebench.models.lexical._model import LexicalModel

__all__ = ["LexicalModel"]
