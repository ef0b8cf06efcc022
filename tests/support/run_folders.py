"""Run folders written through the public interface, as a run leaves them."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.results import Record, RunFolder

Given = tuple[float | None, str | None]
"""A score and the reply's text; None and None for no answer."""

GRID = (("csv", "none"), ("csv", "transpose"), ("html", "none"), ("html", "transpose"))


def record(
    example: str,
    serializer: str,
    perturbation: str,
    score_and_text: float | Given | None,
    *,
    dataset: str = "toy",
    benchmark: str = "toys",
    model: str = "m",
    tail: str = "",
    **fields: Any,
) -> Record:
    """Return a case that is right from score 1; a bare score gets a text."""
    if isinstance(score_and_text, tuple):
        score, text = score_and_text
    else:
        score, text = score_and_text, f"says {score_and_text}"
    if score is None:
        judged: dict[str, Any] = {"outcome": "no_answer", "reason": "timeout"}
    else:
        right = score >= 1.0
        judged = {"outcome": "right" if right else "wrong", "passed": right, "raw": text}
        judged |= {"score": score, "metric": "exact_match", "parts": {"exact_match": score}}
    return Record(
        case_id=f"{dataset}/{example}/{serializer}/{perturbation}{tail}",
        model=model,
        benchmark=benchmark,
        dataset=dataset,
        example_id=example,
        serializer=serializer,
        perturbation=perturbation,
        strategy="direct",
        modality="text",
        **(judged | fields),
    )


def run_facts(cases: int, **facts: Any) -> dict[str, Any]:
    """Return the content of run.json for a finished run."""
    return {
        "status": "complete",
        "model": "m",
        "params": {"temperature": 0, "max_tokens": 512},
        "strategy": "direct",
        "modality": "text",
        "compat": "fixed",
        "seed": 0,
        "demos": "perturbed",
        "configs_per_example": None,
        "shots": None,
        "limit": None,
        "sample": None,
        "grid": {"serializers": ["csv", "html"], "perturbations": ["none", "transpose"]},
        "datasets": {"toy": {"files": {"toy.json": "0" * 64}, "notes": [], "problems": []}},
        "cases_planned": cases,
        "cases_recorded": cases,
        "versions": {"pytest-tablebench": "0.1.0", "spacy": "3.8.0"},
        **facts,
    }


def write_run(
    path: Path,
    scores: Mapping[str, Sequence[float | Given | None]] | Sequence[Record],
    *,
    configurations: Sequence[tuple[str, str]] = GRID,
    **facts: Any,
) -> Path:
    """Write a run of the dataset `toy`: for each example one score per configuration.

    Scores can be replaced by whole records. `facts` replace fields of run.json.
    """
    if isinstance(scores, Mapping):
        records = [
            record(example, *configuration, outcome)
            for example, row in scores.items()
            for configuration, outcome in zip(configurations, row, strict=True)
        ]
    else:
        records = list(scores)
    folder = RunFolder(path)
    for written in records:
        folder.append(written.to_line())
    folder.close()
    folder.write_summary(summarize(records))
    folder.write_run(run_facts(len(records), **facts))
    return path


def write_pair(
    parent: Path, before: Mapping[str, Any], after: Mapping[str, Any], **facts: Any
) -> tuple[Path, Path]:
    """Write both folders of a comparison; `facts` are the second run's."""
    first = write_run(parent / "a", before)
    return first, write_run(parent / "b", after, **facts)
