"""Rank the answers of several models (spec: realhitbench.md section 8)."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace


@dataclass(frozen=True)
class Candidate:
    """An answer that models gave.

    Arguments:
        answer: as the first of them wrote it.
        models: that gave it, in the order of their requests; repeated for each time.
        score: a judge's marks from 0 to 100; None without readable marks.
    """

    answer: str
    models: tuple[str, ...]
    score: float | None = None

    @property
    def final(self) -> float | None:
        """The marks times the number of models."""
        return None if self.score is None else self.score * len(self.models)


def counted_alike(
    answers: Iterable[tuple[str, str]], same: Callable[[str, str], bool]
) -> list[Candidate]:
    """Return the different answers of (model, answer) in the order of their first occurrence.

    `same` returns whether an answer equals an earlier one.
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

    Equal products are ordered by marks, and equal marks by first occurrence; the paper has no rule.
    Candidates without marks come last.
    """

    def place(candidate: Candidate) -> tuple[float, float]:
        return (
            (-1.0, -1.0)
            if candidate.final is None or candidate.score is None
            else (candidate.final, candidate.score)
        )

    return sorted(candidates, key=place, reverse=True)
