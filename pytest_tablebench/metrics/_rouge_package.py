"""ROUGE by the rouge-score package, and the sentences of English text that ROUGE-Lsum compares.

Sentences are split by the rules of Punkt (Kiss and Strunk 2006, as nltk has them). nltk's
parameters for English were learned from newspapers and must be downloaded. A score must not depend
on a machine's downloads, so these parameters are written by hand: abbreviations, pairs such as
`Tab. 4` whose full stop ends no sentence, and words that have a capital only at the start of a
sentence. Only ROUGE-Lsum is affected by the difference.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from functools import lru_cache
from typing import Any

MAX_CHARACTERS = 20_000
"""Characters that are split; the rest of a longer text is part of the last sentence."""

_ABBREVIATIONS = """
    dr mr mrs ms messrs prof st hon rev gen gov sen rep col capt lt sgt maj cmdr adm pres supt
    jr sr esq ph.d m.d b.a m.a b.sc m.sc d.c u.s u.k u.n e.u u.s.a a.m p.m a.d b.c
    inc corp co ltd bros mfg assn dept univ inst bldg ave blvd rd mt
    jan feb mar apr jun jul aug sep sept oct nov dec mon tue tues wed thu thurs fri
    e.g i.e cf viz vs etc al approx resp ca avg std incl excl w.r.t i.i.d
    eds repr transl
""".split()  # noqa: SIM905 - one word per entry is easier to read this way

_BEFORE_NUMBERS = """
    no nos fig figs tab tabs eq eqs eqn sec sect ch chap vol vols p pp art ex app ref refs def
    thm prop cor lem alg par para lv ver jan feb mar apr jun jul aug sep sept oct nov dec
""".split()  # noqa: SIM905

_LOWER_CASE_WORDS = """
    the a an this that these those it its he she they we you his her their our your there here
    in on at by for from with of to as if when while where after before since until during
    although though because however moreover furthermore therefore thus hence also additionally
    but and or so yet nor not both each all some many most other others another such
    what which who why how is are was were do does did has have had can could may might should
    finally first second third then next again only even still overall similarly specifically
    compared using among between within without despite unlike like
""".split()  # noqa: SIM905

# Punkt's flags: seen in lower case inside a sentence, and in upper case at its start.
_SEEN_AS_ORDINARY_WORD = (1 << 5) | (1 << 1)

_LONG_RUN = re.compile(r"\S{500,}")


@lru_cache(maxsize=1)
def _tokenizer() -> Any:
    from nltk.tokenize.punkt import PunktParameters, PunktSentenceTokenizer

    parameters = PunktParameters()
    parameters.abbrev_types.update(_ABBREVIATIONS)
    parameters.collocations.update((word, "##number##") for word in _BEFORE_NUMBERS)
    for word in _LOWER_CASE_WORDS:
        parameters.add_ortho_context(word, _SEEN_AS_ORDINARY_WORD)
    return PunktSentenceTokenizer(parameters)


def sentences(text: str) -> list[str]:
    """Split a text into sentences, stripped of white space; empty text has none.

    For hostile text the work is bounded: text after the first `MAX_CHARACTERS` is not split, nor is
    a run of 500 characters without white space.
    """
    text = text.strip()
    head = text[:MAX_CHARACTERS]
    if not text or not any(mark in head for mark in ".!?"):
        return [text] if text else []
    # Of the same length, so that positions are valid in the text itself.
    plain = _LONG_RUN.sub(lambda run: "x" * len(run[0]), head)
    try:
        spans = list(_tokenizer().span_tokenize(plain))
    except TimeoutError:  # nltk's guard after 5 s, a hundred times what this length takes
        return [text]
    if len(text) > len(head):
        spans[-1:] = [(spans[-1][0], len(text))]
    return [text[start:end] for start, end in spans]


MAX_STEPS = 400_000
"""Product of the token counts of both texts; above it the package takes over a second."""

MAX_LETTERS = 60
"""Letters of the longest word that is stemmed; the stemmer scans a word for each ending."""

_WORD = re.compile(r"[a-z0-9]+")


def is_affordable(reference: str, prediction: str) -> bool:
    """Return whether the package compares two texts in about a second or less.

    Its time grows with the product of the token counts, and a reply can be a megabyte long.
    """
    words = [_WORD.findall(text.lower()) for text in (reference, prediction)]
    is_short = len(words[0]) * len(words[1]) <= MAX_STEPS
    return is_short and all(len(word) <= MAX_LETTERS for text in words for word in text)


def f_measures(
    variants: Collection[str], reference: str, prediction: str, *, stemmed: bool = False
) -> dict[str, float]:
    """Return the package's F-measure of each variant, from 0 to 1.

    For ROUGE-Lsum each sentence is a line, as in ToRR's published evaluation.
    """
    scorer = _scorer(tuple(variants), stemmed)
    if "rougeLsum" in variants:
        reference, prediction = ("\n".join(sentences(text)) for text in (reference, prediction))
    scores = scorer.score(reference, prediction)
    return {name: float(scores[name].fmeasure) for name in variants}


@lru_cache(maxsize=8)
def _scorer(variants: tuple[str, ...], stemmed: bool) -> Any:
    from rouge_score.rouge_scorer import RougeScorer

    return RougeScorer([*variants], use_stemmer=stemmed)
