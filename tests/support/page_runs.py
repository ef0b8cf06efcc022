"""Made-up run folders of any size for pages, drawn from a seed."""

from __future__ import annotations

import hashlib
import random
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.results import Record
from pytest_tablebench.results.texts import TEXTS, TextWriter, example_key
from tests.support.run_folders import write_run as write_records

FORMATS = ("concat", "csv", "df", "html", "indexed_row_major", "json", "markdown")
CHANGES = ("insert_empty_rows", "none", "shuffle_cols", "shuffle_rows", "transpose")
WORDS = [
    "river",
    "harbour",
    "season",
    "points",
    "goals",
    "area",
    "region",
    "total",
    "mean",
    "year",
    "club",
    "title",
    "stage",
]


def record(**changes: Any) -> Record:
    """Return a record, by default of a right answer; the case id follows from its parts."""
    plain: dict[str, Any] = {
        "model": "m",
        "benchmark": "torr",
        "dataset": "wikitq",
        "example_id": "e1",
        "serializer": "csv",
        "perturbation": "none",
        "strategy": "direct",
        "modality": "text",
        "outcome": "right",
        "score": 1.0,
        "passed": True,
        "metric": "exact_match",
        "prediction": "42",
        "raw": "42",
        "references": ("42",),
    }
    plain |= changes
    if plain["outcome"] == "no_answer":
        plain |= {"score": None, "passed": None, "metric": None, "prediction": None}
        plain |= {"raw": changes.get("raw"), "reason": changes.get("reason", "timeout")}
    elif plain["outcome"] == "wrong":
        plain |= {"score": changes.get("score", 0.0), "passed": False}
    names = ("dataset", "example_id", "serializer", "perturbation")
    plain.setdefault("case_id", "/".join(plain[name] for name in names))
    return Record(**plain)


def make_records(
    datasets: Sequence[str],
    examples: int,
    *,
    seed: int = 0,
    formats: Sequence[str] = FORMATS,
    changes: Sequence[str] = CHANGES,
    skill: float = 0.6,
    model: str = "openai/test-model",
) -> Iterable[Record]:
    """Return one record for each cell of the grid; its parts vary in difficulty."""
    for number, dataset in enumerate(datasets):
        for example in range(examples):
            draw = random.Random(f"{seed}/{dataset}/{example}")
            ease = min(1.0, max(0.0, draw.betavariate(1.4, 1.1) * (skill + 0.05 * (number % 5))))
            ease = min(1.0, ease * 1.5)
            for i, form in enumerate(formats):
                for j, change in enumerate(changes):
                    yield _drawn(
                        random.Random(f"{seed}/{model}/{dataset}/{example}/{form}/{change}"),
                        ease - 0.03 * (i % 4) - (0.08 * j if change != "none" else 0),
                        model=model,
                        dataset=dataset,
                        example_id=f"{dataset[:2]}-{example}",
                        serializer=form,
                        perturbation=change,
                    )


def _drawn(draw: random.Random, chance: float, **case_names: str) -> Record:
    facts: dict[str, Any] = {
        **case_names,
        "latency_s": round(draw.lognormvariate(-0.2, 0.5), 4),
        "prompt_tokens": draw.randint(700, 2600),
        "completion_tokens": draw.randint(3, 160),
        "cost_usd": round(draw.uniform(0.0002, 0.0012), 6),
        "references": (str(draw.randint(1, 900)),),
    }
    name = "/".join(
        case_names[key] for key in ("dataset", "example_id", "serializer", "perturbation")
    )
    facts["prompt_digest"] = hashlib.sha256(name.encode()).hexdigest()[:16]
    if draw.random() < 0.012:
        return record(outcome="no_answer", reason=draw.choice(("timeout", "rate_limit")), **facts)
    right = draw.random() < chance
    answer = facts["references"][0] if right else str(draw.randint(1, 900))
    thought = " ".join(draw.choices(WORDS, k=draw.randint(5, 60)))
    facts |= {"prediction": answer, "raw": f"{thought.capitalize()}.\nAnswer: {answer}"}
    flags = ("truncated",) if draw.random() < 0.004 else ()
    parts = {"exact_match": float(right), "f1": 1.0 if right else 0.25}
    return record(outcome="right" if right else "wrong", flags=flags, parts=parts, **facts)


def write_run(
    folder: Path,
    records: Iterable[Record],
    *,
    texts: bool = True,
    prompt: int = 1200,
    run: Mapping[str, Any] | None = None,
) -> Path:
    """Write a run folder; `prompt` is the approximate length of each prompt in characters."""
    kept = list(records)
    facts: dict[str, Any] = {
        "model": kept[0].model if kept else "m",
        "calls_paid": len(kept),
        "store_hits": 0,
        "cost_usd": sum(record.cost_usd or 0 for record in kept) or None,
        "start": "2026-03-01T10:00:00+00:00",
        "end": "2026-03-01T10:21:00+00:00",
    }
    write_records(folder, kept, **facts | dict(run or {}))
    if texts:
        _write_texts(folder / TEXTS, kept, prompt)
    return folder


def _write_texts(path: Path, records: Sequence[Record], size: int) -> None:
    writer = TextWriter(path)
    for record in records:
        key = example_key(record.dataset, record.example_id, record.perturbation)
        draw = random.Random(repr(key))
        head = ["year", "club", "points", "goals"]
        rows = [
            [1990 + i, f"{draw.choice(WORDS)} united", draw.randint(0, 90), None if i else 1]
            for i in range(12)
        ]
        number = record.example_id
        year, subject = 1990 + draw.randint(0, 11), draw.choice(WORDS)
        question = f"How many {subject} did the club of {number} have in {year}?"
        writer.example(key, question, [{"title": "Results", "header": head, "rows": rows}])
        if record.prompt_digest:
            filler = " ".join(random.Random(repr(record.case_id)).choices(WORDS, k=size // 7))
            writer.prompt(
                record.prompt_digest, f"Answer the question.\n{filler}\nQuestion: {question}"
            )
    writer.close()
