"""A process that scores answers: `python -m pytest_tablebench.executors.local.scorer`.

It reads one task per line from its standard input, and writes the outcome of each.
"""

from __future__ import annotations

import base64
import json
import os
import pickle
import sys
from typing import Any

from pytest_tablebench.errors import METRIC, ModelError, TableBenchError, described
from pytest_tablebench.executors._wire import error_fields, score_fields, to_json
from pytest_tablebench.executors.local._local_work import find_metric
from pytest_tablebench.metrics import Metric, score


def main() -> int:
    """Score answers until the input ends."""
    # The output of a metric must not mix with the outcomes.
    output = os.fdopen(os.dup(1), "wb")
    os.dup2(2, 1)
    metrics: dict[str, Metric] = {}
    for line in sys.stdin.buffer:
        output.write(to_json(_outcome(json.loads(line), metrics)) + b"\n")
        output.flush()
    return 0


def _outcome(task: dict[str, Any], metrics: dict[str, Metric]) -> dict[str, Any]:
    """Return the score, or the error with the same text as if pytest had scored the answer."""
    name = task["metric"]
    try:
        if name not in metrics:
            metrics[name] = find_metric(name, task["found"])
        # Pickled by a pytest process of the same run, so it is trusted.
        prediction, references, context = pickle.loads(base64.b64decode(task["arguments"]))  # noqa: S301
        scored = score(
            name, prediction, references, compat=task["compat"], metrics=metrics, **context
        )
    except ModelError as error:
        return {"error": error_fields(error)}
    except Exception as error:
        why = str(error) if isinstance(error, TableBenchError) else described(error)
        return {"error": error_fields(ModelError(why, reason=METRIC))}
    return {"score": score_fields(scored)}


if __name__ == "__main__":
    sys.exit(main())
