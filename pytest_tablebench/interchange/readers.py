"""Read files of every-eval-ever, and lm-eval's samples (`--log_samples`) as its rows."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._foreign import (
    Evaluation,
    EvaluationRow,
    check_facts,
    files_of,
    read_json,
    read_lines,
)
from pytest_tablebench.interchange.every_eval_ever import SCHEMA_VERSION, result_id
from pytest_tablebench.util.entries import listing, mapping
from pytest_tablebench.util.names import shortened

_SAMPLES = re.compile(r"samples_(.+)_(\d{4}-\d\d-\d\dT[0-9.-]+)\.jsonl")
_PARAMETERS = {"temperature": "temperature", "top_p": "top_p", "max_gen_toks": "max_tokens"}


def read_every_eval_ever(paths: Sequence[Path]) -> list[Evaluation]:
    """Read aggregate files, or folders of them, each with its rows in the same folder.

    Raises `DataError` with the file that cannot be read, has another version, or has no rows.
    """
    return [_evaluation(path) for path in files_of(paths, "*.json", "contains no .json file")]


def _evaluation(path: Path) -> Evaluation:
    facts = read_json(path)
    check_facts(facts, str(path))
    if not facts["schema_version"].startswith("0."):
        version = shortened(facts["schema_version"], 20)
        raise DataError(f"{path}: unknown schema version {version}; known: {SCHEMA_VERSION}")
    detail = mapping(facts, "detailed_evaluation_results")
    named = detail.get("file_path")
    if not isinstance(named, str):
        raise DataError(f"{path}: contains only figures; a run needs the file of cases")
    # The path is the datastore's; the file is next to this one under the same name.
    rows_file = path.with_name(PurePosixPath(named).name or "unnamed")
    rows = tuple(EvaluationRow(data, where) for data, where in read_lines(rows_file))
    total, mark, method = map(detail.get, ("total_rows", "checksum", "hash_algorithm"))
    if isinstance(total, int) and total != len(rows):
        raise DataError(f"{rows_file} has {len(rows):,} rows, but should have {total:,}")
    if isinstance(mark, str) and method in {"sha256", "md5"}:
        with rows_file.open("rb") as file:
            if file_digest(file, str(method)).hexdigest() != mark.lower():
                raise DataError(
                    f"{rows_file}: its checksum differs, so it was changed or damaged; fetch it "
                    f"again, or remove `checksum` from the .json file in the same folder"
                )
    for row in rows:
        if row.data.get("evaluation_id") != facts["evaluation_id"]:
            raise DataError(f"{row.place}: its `evaluation_id` differs from {path.name}")
    return Evaluation(path, facts, rows)


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
    metrics = {
        result_id(_dataset(task, sample), str(metric)): str(metric)
        for sample, _ in samples
        for metric in listing(sample.get("metrics"))
    }
    better, params = mapping(content, "higher_is_better", task), mapping(content, "configs", task)
    params = mapping(params, "generation_kwargs")
    arguments = {name: params[theirs] for theirs, name in _PARAMETERS.items() if theirs in params}
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
                "generation_config": {"generation_args": arguments},
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
        yield EvaluationRow(shared | of_metric, place)


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
    best = max(range(len(likelihoods)), key=lambda place: likelihoods[place], default=None)
    return None if best is None or best >= len(choices) else choices[best]
