"""Import HELM's runs of ToRR's recipes: prompts, replies and published scores of each instance.

HELM has a folder for each recipe, model and configuration. The importer reads three of its files:
`run_spec.json` contains the settings, `scenario_state.json` each instance with its references,
request and reply, and `per_instance_stats.json` HELM's scores.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._foreign import (
    Evaluation,
    ForeignCase,
    files_of,
    is_number,
    read_json,
    read_json_list,
)
from pytest_tablebench.serializers.content import digest_of
from pytest_tablebench.util.entries import listing, mapping
from pytest_tablebench.util.names import slug

SPEC, STATE, STATS = "run_spec.json", "scenario_state.json", "per_instance_stats.json"

MAIN = {
    # recipe: our name of the dataset, and HELM's main metric (spec: torr.md section 8.7)
    "fin_qa": ("finqa", "program_accuracy"),
    "wikitq": ("wikitq", "f1_strings"),
    "turl_col_type": ("turl_cta", "f1_micro"),
    "tab_fact": ("tabfact", "accuracy"),
    "numeric_nlg": ("numericnlg", "rougeL"),
    "qtsumm": ("qtsumm", "rougeL"),
    "scigen": ("scigen", "rougeL"),
    "tablebench_data_analysis": ("tablebench_da", "rougeL"),
    "tablebench_fact_checking": ("tablebench_fc", "rougeL"),
    "tablebench_numerical_reasoning": ("tablebench_nr", "rougeL"),
}
PUBLISHED = "published"
"""The part of a record's score with HELM's score of the case by its main metric."""

_MODES = {"strategy": "direct", "modality": "text"}
_RECIPE = re.compile(
    r"recipes\.torr\.(?P<dataset>\w+)\.(?P<serializer>\w+)\."
    r"(?P<perturbation>\w+)_augmentation_(?P<shots>\d+)_demos"
)

HelmScorer = Callable[[str, str, Sequence[str]], dict[str, Any]]
"""Scores a reply by our metric, given dataset, reply and references.

It returns fields of a record: `score`, `threshold`, `metric`, `part`, `parts`, `prediction`.
"""


def read_helm(
    paths: Sequence[Path], score_reply: HelmScorer, tags: Callable[[str], Mapping[str, str]]
) -> list[Evaluation]:
    """Read HELM's run folders, or folders of them, and score each reply.

    `tags` returns the tags of a dataset's questions.

    Raises `DataError` with the file that cannot be read, and for a run that is not of a ToRR
    recipe.
    """
    files = files_of(paths, SPEC, f"contains no {SPEC} of HELM")
    folders = dict.fromkeys(path.parent for path in files)
    return [_evaluation(folder, score_reply, tags) for folder in folders]


def compared_lines(evaluations: Sequence[Evaluation]) -> list[str]:
    """Return a line for each dataset: our mean, the published mean, and the differing cases."""
    scores: dict[str, list[tuple[float, float]]] = {}
    without: Counter[str] = Counter()
    for fields in (case.fields for evaluation in evaluations for case in evaluation.cases):
        if fields["outcome"] == "no_answer":
            continue
        if PUBLISHED in fields["parts"]:
            pair = fields["score"], fields["parts"][PUBLISHED]
            scores.setdefault(fields["dataset"], []).append(pair)
        else:
            without[fields["dataset"]] += 1
    lines = []
    for dataset, pairs in scores.items():
        ours, theirs = (sum(values) / len(pairs) for values in zip(*pairs, strict=True))
        gaps = [abs(score - other) for score, other in pairs if abs(score - other) > 1e-9]
        differ = f"all {len(pairs):,} cases are equal"
        if gaps:
            differ = f"{len(gaps):,} of {len(pairs):,} cases differ, by {max(gaps):.3f} at most"
        lines.append(f"{dataset}: mean score {ours:.3f} here, {theirs:.3f} published; {differ}")
    for dataset, count in without.items():
        lines.append(f"{dataset}: {count:,} answered cases have no published score")
    return lines


def _evaluation(
    folder: Path, score_reply: HelmScorer, tags: Callable[[str], Mapping[str, str]]
) -> Evaluation:
    spec = read_json(folder / SPEC)
    recipe = _recipe(spec, folder / SPEC)
    adapter = mapping(spec, "adapter_spec")
    model = adapter.get("model")
    if not isinstance(model, str) or not model:
        raise DataError(f"{folder / SPEC}: names no model (adapter_spec.model)")
    dataset, main = MAIN[recipe["dataset"]]
    scores = _published_scores(folder / STATS, main)
    state = folder / STATE
    recipe |= {"dataset": dataset, "tags": dict(tags(dataset))}
    cases = [
        _case(request, f"{state}, request_states[{number}]", recipe, score_reply, scores)
        for number, request in enumerate(listing(read_json(state).get("request_states")))
    ]
    return Evaluation(
        state,
        f"torr/{model}/{spec.get('name')}",
        model,
        "helm ?",
        cases,
        {name: adapter[name] for name in ("temperature", "max_tokens") if name in adapter},
        run=_MODES | {"by_dataset": {dataset: {"shots": int(recipe["shots"])}}},
        form="helm",
    )


def _recipe(spec: Mapping[str, Any], path: Path) -> dict[str, Any]:
    recipe = mapping(spec, "scenario_spec", "args").get("recipe")
    match = _RECIPE.search(recipe if isinstance(recipe, str) else str(spec.get("name")))
    if match is None or match["dataset"] not in MAIN:
        raise DataError(
            f"{path}: not a run of a ToRR recipe "
            f"(recipes.torr.DATASET.SERIALIZER.PERTURBATION_augmentation_K_demos)"
        )
    plain = {"perturbation": "none"} if match["perturbation"] == "no" else {}
    return match.groupdict() | plain


def _published_scores(path: Path, main: str) -> dict[tuple[str, int], float]:
    scores: dict[tuple[str, int], float] = {}
    for entry in read_json_list(path):
        for stat in listing(entry.get("stats")):
            name = mapping(stat, "name").get("name")
            value: Any = mapping(stat).get("mean")
            if name == main and is_number(value):
                scores[str(entry.get("instance_id")), _trial(entry)] = float(value)
    return scores


def _trial(entry: Mapping[str, Any]) -> int:
    trial = entry.get("train_trial_index")
    return trial if isinstance(trial, int) and trial >= 0 else 0


def _case(
    state: Any,
    location: str,
    recipe: Mapping[str, Any],
    score_reply: HelmScorer,
    scores: Mapping[tuple[str, int], float],
) -> ForeignCase:
    if not isinstance(state, dict):
        raise DataError(f"{location}: not a request of HELM")
    instance, result = mapping(state, "instance"), mapping(state, "result")
    sample = instance.get("id")
    if not isinstance(sample, str) or not sample:
        raise DataError(f"{location}: the instance has no id")
    completions = [entry for entry in listing(result.get("completions")) if isinstance(entry, dict)]
    reply = completions[0].get("text") if completions else None
    references = tuple(
        str(mapping(entry, "output").get("text"))
        for entry in listing(instance.get("references"))
        if isinstance(entry, dict) and "correct" in listing(entry.get("tags"))
    )
    prompt: Any = mapping(state, "request").get("prompt")
    prompt = prompt if isinstance(prompt, str) and prompt else None
    seconds: Any = result.get("request_time")
    axes = (recipe["dataset"], slug(sample), recipe["serializer"], recipe["perturbation"])
    repeat = _trial(state) + 1
    fields: dict[str, Any] = {
        "case_id": "/".join([*axes, *([f"r{repeat}"] if repeat > 1 else [])]),
        "benchmark": "torr",
        **dict(zip(("dataset", "example_id", "serializer", "perturbation"), axes, strict=True)),
        "repeat": repeat,
        "references": references,
        "latency_s": seconds if is_number(seconds) else None,
        "prompt_digest": digest_of(prompt) if prompt else None,
        "tags": recipe["tags"],
        **_MODES,
    }
    if result.get("success") is False or not isinstance(reply, str):
        fields |= {"outcome": "no_answer", "score": None, "reason": "provider_error"}
        return ForeignCase(fields, location, prompt)
    scored = score_reply(recipe["dataset"], reply, references)
    is_right = scored["score"] >= scored["threshold"]
    if (sample, repeat - 1) in scores:
        scored["parts"][PUBLISHED] = scores[sample, repeat - 1]
    reason = mapping(completions[0], "finish_reason").get("reason")
    fields |= {
        "raw": reply,
        "outcome": "right" if is_right else "wrong",
        "passed": is_right,
        "flags": ["truncated"] if reason == "length" else [],
        **scored,
    }
    return ForeignCase(fields, location, prompt)
