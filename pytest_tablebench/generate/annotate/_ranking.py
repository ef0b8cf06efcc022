"""Which of several models' answers is taken (spec: realhitbench.md section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Candidate:
    """An answer that models gave.

    Arguments:
        answer: as the first of them wrote it.
        models: that gave it, in the order in which they were asked; a name for each time.
        score: a judge's marks from 0 to 100; None where there are none that can be read.
    """

    answer: str
    models: tuple[str, ...]
    score: float | None = None

    @property
    def final(self) -> float | None:
        """The marks times how often the answer was given."""
        return None if self.score is None else self.score * len(self.models)


def counted_alike(
    answers: Iterable[tuple[str, str]], same: Callable[[str, str], bool]
) -> list[Candidate]:
    """Return the different answers of (model, answer) in the order in which they were given.

    `same` tells whether an answer says what a former one does.
    """
    candidates: list[Candidate] = []
    for model, answer in answers:
        for place, candidate in enumerate(candidates):
            if same(answer, candidate.answer):
                candidates[place] = replace(candidate, models=(*candidate.models, model))
                break
        else:
            candidates.append(Candidate(answer, (model,)))
    return candidates


def ranked(candidates: Sequence[Candidate]) -> list[Candidate]:
    """Return the candidates, the best first.

    Equal products go by the marks, and equal marks by who was first; the paper does not say. What
    has no marks comes last.
    """

    def place(candidate: Candidate) -> tuple[float, float]:
        return (
            (-1.0, -1.0)
            if candidate.final is None or candidate.score is None
            else (candidate.final, candidate.score)
        )

    return sorted(candidates, key=place, reverse=True)
