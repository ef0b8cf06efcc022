"""Read lm-eval's samples (`--log_samples`) as rows of every-eval-ever."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._evaluation import (
    Evaluation,
    EvaluationRow,
    files_of,
    read_json,
    read_lines,
)
from pytest_tablebench.interchange._instance import SCHEMA_VERSION, result_id
from pytest_tablebench.util.entries import listing, mapping

_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[0-9.-]+)\.jsonl")


def read_lm_eval(paths: Sequence[Path], *, model: str | None = None) -> list[Evaluation]:
    """Read `samples_TASK_DATE.jsonl`, with `results_DATE.json` in the same folder.

    Args:
        paths: files and folders.
        model: the name of the model; None takes it from the results.

    Raises `DataError` with the file that cannot be read, or if the model's name is unknown.
    """
    missing = "contains no samples_TASK_DATE.jsonl; lm-eval writes them with --log_samples"
    # Results are read together with their samples.
    chosen = [path for path in paths if path.is_dir() or not path.name.startswith("results_")]
    return [_evaluation(path, model) for path in files_of(chosen, "samples_*.jsonl", missing)]


def _evaluation(path: Path, model: str | None) -> Evaluation:
    named = _SAMPLES.fullmatch(path.name)
    if named is None:
        raise DataError(f"{path}: not a file of lm-eval: its name is not samples_TASK_DATE.jsonl")
    task, date = named.groups()
    results = path.with_name(f"results_{date}.json")
    content = read_json(results) if results.exists() else {}
    model = model or _model(content)
    if model is None:
        raise DataError(
            f"{path}: {results.name} is missing in its folder, or names "
            f"no model; name it with --model NAME"
        )
    samples = list(read_lines(path))
    metrics, better = _metrics(task, samples), mapping(content, "higher_is_better", task)
    facts = {
        "schema_version": SCHEMA_VERSION,
        "evaluation_id": f"lm-eval/{model}/{date}",
        "model_info": {"name": model, "id": model},
        "eval_library": {"name": "lm-eval", "version": str(content.get("lm_eval_version") or "?")},
        "evaluation_results": [
            {
                "evaluation_result_id": mark,
                "metric_config": {
                    "metric_name": metric,
                    "lower_is_better": better.get(metric) is False,
                },
                "generation_config": {"generation_args": _params(content, task)},
            }
            for mark, metric in metrics.items()
        ],
    }
    rows = [row for sample, place in samples for row in _rows(task, sample, place)]
    return Evaluation(path, facts, tuple(rows))


def _model(results: Mapping[str, Any]) -> str | None:
    config = mapping(results, "config")
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.split("=", 1) for part in arguments.split(",") if "=" in part)
    names = mapping(arguments).get("pretrained"), mapping(arguments).get("model")
    name = next(filter(None, (*names, results.get("model_name"), config.get("model"))), None)
    return str(name) if name else None


def _params(results: Mapping[str, Any], task: str) -> dict[str, Any]:
    params = mapping(results, "configs", task, "generation_kwargs")
    names = {"temperature": "temperature", "top_p": "top_p", "max_gen_toks": "max_tokens"}
    return {
        name: params[lm_eval_name] for lm_eval_name, name in names.items() if lm_eval_name in params
    }


def _metrics(task: str, samples: Sequence[tuple[Mapping[str, Any], str]]) -> dict[str, str]:
    """Return the metrics in the samples, by the ids of their results."""
    metrics = {}
    for sample, _ in samples:
        for metric in listing(sample.get("metrics")):
            metrics[result_id(_dataset(task, sample), str(metric))] = str(metric)
    return metrics


def _dataset(task: str, sample: Mapping[str, Any]) -> str:
    """Return the name of a task with a filter of replies."""
    filtered = sample.get("filter") or "none"
    return task if filtered == "none" else f"{task}/{filtered}"


def _rows(task: str, sample: Mapping[str, Any], place: str) -> Iterator[EvaluationRow]:
    """Yield a row for each metric with a number for the sample."""
    scored = {str(metric): sample.get(str(metric)) for metric in listing(sample.get("metrics"))}
    scores = {
        metric: float(value) for metric, value in scored.items() if isinstance(value, int | float)
    }
    if "doc_id" not in sample or not scores:
        raise DataError(f"{place}: not a sample of lm-eval: it has no doc_id, or no score")
    prompt, choices = _prompt_and_choices(sample.get("arguments"))
    replies, read = _first(sample.get("resps")), _first(sample.get("filtered_resps"))
    target = sample.get("target")
    if choices:
        replies = read = _chosen(sample.get("filtered_resps"), choices)
        if str(target).isdecimal() and int(str(target)) < len(choices):
            target = choices[int(str(target))]
    for metric, score in scores.items():
        data = {
            "evaluation_name": _dataset(task, sample),
            "evaluation_result_id": result_id(_dataset(task, sample), metric),
            "sample_id": str(sample["doc_id"]),
            "input": {"raw": prompt, "reference": _references(target), "choices": choices or None},
            "output": {"raw": [] if replies is None else [replies]},
            "answer_attribution": []
            if read is None
            else [{"extracted_value": read, "is_terminal": True}],
            "evaluation": {"score": score, "is_correct": score == 1.0},
        }
        yield EvaluationRow(data, place)


def _references(target: object) -> list[str]:
    references = target if isinstance(target, list) else [target]
    return [
        reference if isinstance(reference, str) else json.dumps(reference)
        for reference in references
        if reference is not None
    ]


def _prompt_and_choices(arguments: object) -> tuple[str, list[str]]:
    """Return the prompt, and the continuations to choose from, if there are several."""
    requests = [request for request in listing(arguments) if isinstance(request, list)]
    if isinstance(arguments, dict):
        requests = [[*each.values()] for each in arguments.values() if isinstance(each, dict)]
    texts = [
        [part if isinstance(part, str) else json.dumps(part) for part in request]
        for request in requests
    ]
    prompt = texts[0][0] if texts and texts[0] else ""
    if len(texts) < 2:
        return prompt, []
    return prompt, [request[1].strip() for request in texts if len(request) > 1]


def _first(replies: object) -> str | None:
    while isinstance(replies, list):
        replies = replies[0] if replies else None
    return None if replies is None else str(replies)


def _chosen(replies: object, choices: Sequence[str]) -> str | None:
    """Return the continuation with the greatest log-likelihood."""
    likelihoods = []
    for pair in listing(replies):
        try:
            likelihoods.append(float(_first(pair) or "nan"))
        except ValueError:
            return None
    best = max(range(len(likelihoods)), key=lambda place: likelihoods[place], default=None)
    return None if best is None or best >= len(choices) else choices[best]
