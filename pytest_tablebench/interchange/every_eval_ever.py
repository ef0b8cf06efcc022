"""Export to every-eval-ever: for each benchmark an aggregate file and a file of its cases."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Any

from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.interchange._instance import SCHEMA_VERSION, result_id, row_of
from pytest_tablebench.interchange.exporter import (
    LIBRARY,
    PARAMETERS,
    RunTexts,
    moment,
    plain,
    records_by,
    run_uuid,
)
from pytest_tablebench.results.run import Run
from pytest_tablebench.results.run_facts import RunFacts
from pytest_tablebench.results.texts import MEDIA, merge_media
from pytest_tablebench.util.files import write_whole
from pytest_tablebench.util.names import shortened, slug

LOCAL = {
    *("schema", "model", "store", "data", "baseline", "api_base", "named_by"),
    *("missing", "imported"),
}
"""The entries of `run.json` that are not exported: exported elsewhere, or local places."""

_FIGURES = {
    "performance": "mean score",
    "pass_rate": "share of cases that are right",
    "robustness": "how little the score depends on serializer and perturbation",
    "no_answer": "share of cases without an answer",
}
_PART = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.:+@=~ -]{0,127}")
_RESERVED = re.compile(r"(?i:con|prn|aux|nul|com[1-9]|lpt[1-9])(\..*)?|data|unknown")


def write_every_eval_ever(
    run: Run,
    folder: Path,
    *,
    model_id: str | None = None,
    organization: str = "unknown",
    relationship: str = "other",
    samples: bool = True,
) -> list[Path]:
    """Write `<uuid>.json` and `<uuid>_samples.jsonl` in `data/<benchmark>/<developer>/<model>/`.

    Args:
        run: the run.
        folder: the folder to write into.
        model_id: `developer/model`; None takes the model's name, which must have that form.
        organization: the evaluating organization.
        relationship: its relationship to the model, in the schema's words.
        samples: whether to write the cases, with questions, prompts and replies.
    """
    model_id = model_id or run.facts.model
    place = _model_place(model_id)
    texts = RunTexts.of(run) if samples else RunTexts()
    written = []
    for benchmark, records in records_by(run, "benchmark").items():
        subfolder = Path("data", slug(benchmark), *place)
        (folder / subfolder).mkdir(parents=True, exist_ok=True)
        mark = run_uuid(run, benchmark)
        aggregate = _aggregate(run, benchmark, model_id)
        aggregate["source_metadata"] |= {
            "source_organization_name": organization,
            "evaluator_relationship": relationship,
        }
        if samples:
            path = subfolder / f"{mark}_samples.jsonl"
            ids = aggregate["evaluation_id"], model_id
            rows = (row_of(record, texts, *ids) for record in records)
            facts = _write_rows(folder / path, rows, path.as_posix())
            aggregate["detailed_evaluation_results"] = facts
            written.append(folder / path)
        text = json.dumps(plain(aggregate), indent=2, default=str) + "\n"
        write_whole(folder / subfolder / f"{mark}.json", text)
        written.append(folder / subfolder / f"{mark}.json")
    if samples:
        merge_media([run.path], folder)
    media = folder / MEDIA
    return [*written, *([media] if media.is_dir() else [])]


def _aggregate(run: Run, benchmark: str, model_id: str) -> dict[str, Any]:
    facts = run.facts
    began, ended = (
        str(int(moment(*times).timestamp()))
        for times in ((facts.start, facts.end), (facts.end, facts.start))
    )
    shared = {name: value for name, value in facts.entries.items() if name not in LOCAL}
    details = {name: json.dumps(value) for name, value in shared.items()}
    return {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"{slug(benchmark)}/{model_id}/{ended}",
        "evaluation_timestamp": began,
        "retrieved_timestamp": ended,
        "source_metadata": {"source_name": LIBRARY, "source_type": "evaluation_run"},
        "eval_library": {
            "name": LIBRARY,
            "version": facts.version or "unknown",
            "additional_details": details,
        },
        "model_info": {
            "name": facts.model,
            "id": model_id,
            "additional_details": {
                "deployment_type": "unknown",
                "model_availability": "unknown",
            },
        },
        "evaluation_results": list(_results(run, benchmark)),
    }


def _model_place(model_id: str) -> tuple[str, str]:
    """Return the folders of a developer and a model, by the datastore's rules."""
    parts = model_id.split("/")
    is_valid = len(parts) > 1 and all(
        _PART.fullmatch(part) and not _RESERVED.fullmatch(part) and part[-1] not in ". "
        for part in parts
    )
    if not is_valid:
        raise SettingsError(
            f"--model-id: {shortened(model_id, 80)!r} does not name the developer; write "
            f"developer/model, as on the Hugging Face hub (openai/gpt-4o)"
        )
    return parts[0].replace(":", "_"), "_".join(parts[1:]).replace(":", "_")


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]], place: str) -> dict[str, Any]:
    digest, count = sha256(), 0

    def lines() -> Iterator[bytes]:
        nonlocal count
        for count, row in enumerate(rows, start=1):  # noqa: B007
            line = json.dumps(plain(row)).encode("ascii") + b"\n"  # ASCII has no other line ends
            digest.update(line)
            yield line

    write_whole(path, lines())
    return {
        "format": "jsonl",
        "file_path": place,
        "hash_algorithm": "sha256",
        "checksum": digest.hexdigest(),
        "total_rows": count,
    }


def _results(run: Run, benchmark: str) -> Iterator[dict[str, Any]]:
    """Yield the figures of a benchmark's datasets, and its own if it has several datasets."""
    figures = summary_of(run)["benchmarks"][benchmark]
    scopes = dict(figures["datasets"])
    if set(scopes) != {benchmark}:
        scopes[benchmark] = figures
    for name, scope in scopes.items():
        for figure, meaning in _FIGURES.items():
            value = scope.get(figure)
            if value is not None:
                yield _result(run, name, figure, meaning, scope)


def _result(
    run: Run, name: str, figure: str, meaning: str, scope: Mapping[str, Any]
) -> dict[str, Any]:
    files = run.facts.files(name)
    source: dict[str, Any] = {"dataset_name": name, "source_type": "other"}
    if files:
        source["additional_details"] = {f"sha256:{file}": str(mark) for file, mark in files.items()}
    score: dict[str, Any] = {
        "score": scope[figure],
        "details": {name: str(scope[name]) for name in ("n_examples", "n_cases")},
    }
    interval = (scope.get("ci95") or {}).get(figure)
    if interval:
        low, high = interval
        score["uncertainty"] = {
            "confidence_interval": {
                "lower": low,
                "upper": high,
                "confidence_level": 0.95,
                "method": "clusters are tables, or examples if the run names no tables",
            },
            "num_samples": scope["n_examples"],
        }
    return {
        "evaluation_result_id": result_id(name, figure),
        "evaluation_name": name,
        "source_data": source,
        "metric_config": {
            "evaluation_description": meaning,
            "metric_id": f"tablebench.{figure}",
            "metric_name": figure,
            "metric_unit": "proportion",
            "lower_is_better": figure == "no_answer",
            "score_type": "continuous",
            "min_score": 0,
            "max_score": 1,
        },
        "score_details": score,
        "generation_config": _generation(run.facts),
    }


def _generation(run: RunFacts) -> dict[str, Any]:
    """Return the parameters sent, those without a name in the schema as additional details."""
    params = dict(run.parameters)
    named = {
        name: params.pop(name)
        for name in PARAMETERS
        if type(params.get(name)) in ({int} if name == "max_tokens" else {int, float})
    }
    details = {str(name): json.dumps(value, default=str) for name, value in params.items()}
    return {"generation_args": named, "additional_details": details}
