"""The built-in model `tablebench/lexical`, which answers by matching words.

It needs only the standard library.
"""

from pytest_tablebench.models.lexical._model import LexicalModel

__all__ = ["LexicalModel"]
