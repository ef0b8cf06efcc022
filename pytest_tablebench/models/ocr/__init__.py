"""The built-in model `tablebench/ocr`: reads pictures of tables, and answers by matching words."""

from pytest_tablebench.models.ocr._model import OcrModel

__all__ = ["OcrModel"]
