"""Read lm-eval's samples (`--log_samples`) as rows of every-eval-ever."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._foreign import Evaluation, files_of, read_json, read_lines
from pytest_tablebench.interchange.every_eval_ever import result_id
from pytest_tablebench.interchange.every_eval_ever_reader import Metric, Row, foreign_cases
from pytest_tablebench.util.entries import listing, mapping
from pytest_tablebench.util.names import slug

_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[0-9.-]+)\.jsonl")
_PARAMETERS = {"temperature": "temperature", "top_p": "top_p", "max_gen_toks": "max_tokens"}


def read_lm_eval(paths: Sequence[Path], *, model: str | None = None) -> list[Evaluation]:
    """Read `samples_TASK_DATE.jsonl`, with `results_DATE.json` in the same folder.

    `model` is the name of the model; None takes it from the results.

    Raises `DataError` with the file that cannot be read, or if the model's name is unknown.
    """
    missing = "contains no samples_TASK_DATE.jsonl; lm-eval writes them with --log_samples"
    # Results are read together with their samples.
    chosen = [path for path in paths if path.is_dir() or not path.name.startswith("results_")]
    return [_samples(path, model) for path in files_of(chosen, "samples_*.jsonl", missing)]


def _samples(path: Path, model: str | None) -> Evaluation:
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
    better = mapping(content, "higher_is_better", task)
    sent = mapping(content, "configs", task, "generation_kwargs")
    metrics = {
        result_id(_dataset(task, sample), str(metric)): Metric(
            slug(str(metric)), lower_is_better=better.get(metric) is False
        )
        for sample, _ in samples
        for metric in listing(sample.get("metrics"))
    }
    rows = [row for sample, location in samples for row in _rows(task, sample, location)]
    return Evaluation(
        path,
        f"lm-eval/{model}/{date}",
        model,
        f"lm-eval {content.get('lm_eval_version') or '?'}",
        [*foreign_cases(rows, metrics, "lm-eval")],
        {ours: sent[name] for name, ours in _PARAMETERS.items() if sent.get(name) is not None},
    )


def _model(results: Mapping[str, Any]) -> str | None:
    config = mapping(results, "config")
    arguments = config.get("model_args")
    if isinstance(arguments, str):
        arguments = dict(part.split("=", 1) for part in arguments.split(",") if "=" in part)
    names = mapping(arguments).get("pretrained"), mapping(arguments).get("model")
    name = next(filter(None, (*names, results.get("model_name"), config.get("model"))), None)
    return str(name) if name else None


def _dataset(task: str, sample: Mapping[str, Any]) -> str:
    """Return the name of a task with a filter of replies."""
    filtered = sample.get("filter") or "none"
    return task if filtered == "none" else f"{task}/{filtered}"


def _rows(task: str, sample: Mapping[str, Any], location: str) -> Iterator[Row]:
    """Yield a row for each metric with a number for the sample."""
    scored = {str(metric): sample.get(str(metric)) for metric in listing(sample.get("metrics"))}
    scores = {
        metric: float(value) for metric, value in scored.items() if isinstance(value, int | float)
    }
    if "doc_id" not in sample or not scores:
        raise DataError(f"{location}: not a sample of lm-eval: it has no doc_id, or no score")
    prompt, choices = _prompt_and_choices(sample.get("arguments"))
    reply, read = _first(sample.get("resps")), _first(sample.get("filtered_resps"))
    target = sample.get("target")
    if choices:
        reply = read = _chosen(sample.get("filtered_resps"), choices)
        if str(target).isdecimal() and int(str(target)) < len(choices):
            target = choices[int(str(target))]
    references = target if isinstance(target, list) else [target]
    dataset = _dataset(task, sample)
    shared = {
        "evaluation_name": dataset,
        "sample_id": str(sample["doc_id"]),
        "input": {
            "raw": prompt,
            "reference": [_text(each) for each in references if each is not None],
            "choices": choices or None,
        },
        "output": {"raw": [] if reply is None else [reply]},
        "answer_attribution": []
        if read is None
        else [{"extracted_value": read, "is_terminal": True}],
    }
    for metric, score in scores.items():
        judged = {"score": score, "is_correct": score == 1.0}
        of_metric = {"evaluation_result_id": result_id(dataset, metric), "evaluation": judged}
        yield shared | of_metric, location


def _text(value: object) -> str:
    return value if isinstance(value, str) else json.dumps(value)


def _prompt_and_choices(arguments: object) -> tuple[str, list[str]]:
    """Return the prompt, and the continuations to choose from, if there are several."""
    requests = [request for request in listing(arguments) if isinstance(request, list)]
    if isinstance(arguments, dict):
        requests = [[*each.values()] for each in arguments.values() if isinstance(each, dict)]
    texts = [[_text(part) for part in request] for request in requests]
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
    best = max(range(len(likelihoods)), key=lambda index: likelihoods[index], default=None)
    return None if best is None or best >= len(choices) else choices[best]
