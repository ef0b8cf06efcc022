"""`tablebench import PATH... --out RUN`."""

from __future__ import annotations

import argparse
from collections.abc import Callable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.errors import SettingsError, writing


def import_results(options: argparse.Namespace) -> tuple[list[str], int]:
    from pytest_tablebench.interchange.helm import compared_lines, read_helm
    from pytest_tablebench.interchange.import_run import import_run
    from pytest_tablebench.interchange.read_eee import read_every_eval_ever
    from pytest_tablebench.interchange.read_lm_eval import read_lm_eval

    if options.form == "lm-eval":
        evaluations = read_lm_eval(options.paths, model=options.model)
    elif options.form == "helm":
        score_reply = partial(_helm_score, compat=options.compat)
        evaluations = [
            replace(evaluation, run={**evaluation.run, "compat": options.compat})
            for evaluation in read_helm(options.paths, score_reply, _tags)
        ]
    else:
        evaluations = read_every_eval_ever(options.paths)
    with writing(f"--out: cannot write into {options.out}", "; choose another folder"):
        imported = import_run(evaluations, options.out, model=options.model)
    compared = compared_lines(evaluations) if options.form == "helm" else []
    lines = [*imported, *compared]
    return [*lines, f"run folder: {options.out}"], 0


def _tags(dataset: str) -> Mapping[str, str]:
    from pytest_tablebench.running.builtins import builtin_registry

    tags: Callable[[], Mapping[str, str]] = getattr(
        builtin_registry().datasets[dataset], "tags", dict
    )
    return tags()


def _helm_score(
    dataset_name: str, reply: str, references: Sequence[str], *, compat: Compat
) -> dict[str, Any]:
    """Score a reply from HELM by the metric of its dataset.

    HELM's files lack FinQA's tables and printed answers, so the part that needs them is left out.
    """
    from pytest_tablebench.running.builtins import builtin_registry
    from pytest_tablebench.running.scoring import judge_reply

    registry = builtin_registry()
    dataset = registry.datasets[dataset_name]
    context = {"table": None, "answer": ""} if dataset_name == "finqa" else {}
    judged = judge_reply(registry, dataset, reply, references, compat=compat, **context)
    score = judged.score
    if score is None:
        raise SettingsError(f"dataset {dataset_name!r} has no metric")
    return {
        "score": score.value,
        "threshold": dataset.threshold,
        "metric": str(dataset.metric),
        "part": score.part,
        "parts": {name: part for name, part in score.parts.items() if name != "execution_accuracy"},
        "prediction": judged.prediction,
    }
