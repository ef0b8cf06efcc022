"""METEOR of generated texts (Banerjee and Lavie 2005), by nltk with WordNet.

WordNet is data that no package on PyPI contains. Nothing is downloaded here: without WordNet there
is no METEOR.
"""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from pytest_tablebench.metrics._rouge_package import is_affordable, sentences

HOW = "`python -m nltk.downloader wordnet` fetches it"
"""How to get WordNet."""


def has_wordnet() -> bool:
    """Return whether nltk finds WordNet."""
    return _wordnet() is not None


def meteor(references: Sequence[str], prediction: str) -> float | None:
    """Return METEOR against the best reference, 0 to 1.

    None without WordNet or references, and for texts that take over a second to compare.
    """
    wordnet = _wordnet()
    if wordnet is None or not references:
        return None
    if not all(is_affordable(reference, prediction) for reference in references):
        return None
    from nltk.translate.meteor_score import meteor_score

    words = [_words(reference) for reference in references]
    return float(meteor_score(words, _words(prediction), wordnet=wordnet))


def _words(text: str) -> list[str]:
    """Return the tokens of nltk's `word_tokenize`; sentences are split without its data."""
    from nltk.tokenize.destructive import NLTKWordTokenizer

    tokenizer = NLTKWordTokenizer()
    return [token for sentence in sentences(text) for token in tokenizer.tokenize(sentence)]


@lru_cache(maxsize=1)
def _wordnet() -> Any:
    from nltk.corpus import wordnet

    try:
        wordnet.ensure_loaded()
    except (LookupError, OSError):  # its files are missing or incomplete
        return None
    return wordnet
