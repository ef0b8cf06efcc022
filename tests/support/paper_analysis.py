"""An analysis of two models on two datasets, in the form that `analyse` returns."""

from __future__ import annotations

from typing import Any

ALPHA, BETA = "alpha", "beta"


def value(number: float, **more: Any) -> dict[str, Any]:
    return {"value": number, **more}


def nothing(reason: str, **more: Any) -> dict[str, Any]:
    return {"value": None, "reason": reason, **more}


def analysis(first: str = ALPHA, second: str = BETA) -> dict[str, Any]:
    """Return the analysis; `second` has no answer in d2 and lacks one configuration in d1."""
    none = "no scores"
    part = "no value in: d2"
    complete = {"n_incomplete": 0, "flags": [], "n_examples": 2}
    return {
        "performance": {
            "by_model_dataset": {
                first: {"d1": value(0.5, n_missing_cells=0), "d2": value(0.25, n_missing_cells=0)},
                second: {"d1": value(0.75, n_missing_cells=3), "d2": nothing(none)},
            },
            "by_model": {first: value(0.375), second: nothing(part)},
        },
        "robustness": {
            "by_model_dataset": {
                first: {
                    "d1": value(0.8, complete_examples_only=0.8, **complete),
                    "d2": value(0.9, complete_examples_only=0.9, **complete),
                },
                second: {
                    "d1": value(
                        0.6, n_incomplete=1, flags=["incomplete"], complete_examples_only=0.55
                    ),
                    "d2": nothing(
                        none, n_incomplete=2, flags=["incomplete"], complete_examples_only=None
                    ),
                },
            },
            "by_model": {
                first: value(0.85, flags=[]),
                second: nothing(part, flags=["incomplete"]),
            },
        },
        "min_max": {
            "by_model_dataset": {
                first: {
                    "d1": {"max": value(0.6), "min": value(0.4)},
                    "d2": {"max": value(0.3), "min": value(0.2)},
                },
                second: {
                    "d1": {"max": value(0.9), "min": value(0.5)},
                    "d2": {"max": nothing(none), "min": nothing(none)},
                },
            },
            "by_model": {
                first: {"max": value(0.45), "min": value(0.3)},
                second: {"max": nothing(part), "min": nothing(part)},
            },
        },
        "serializer_spread": {
            key: {
                first: {
                    "d1": value(0.125, serializers={"csv": 0.5, "html": 0.625}),
                    "d2": value(0.0, serializers={"csv": 0.25, "html": 0.25}),
                },
                second: {
                    "d1": value(0.1, serializers={"csv": 0.8, "html": 0.7}),
                    "d2": nothing("fewer than two serializers with a score", serializers={}),
                },
            }
            for key in ("perturbations=all", "perturbations=none")
        },
        "win_rates": {
            "serializer": _rates(first, second, "csv", "html"),
            "serializer, all equal = 1/K": _rates(first, second, "csv", "html"),
            "serializer, inside each perturbation": _rates(first, second, "csv", "html"),
            "perturbation": nothing("alternatives differ between datasets"),
        },
        "perturbation_impact": {
            "signed_by_model_dataset_perturbation": {
                first: {"d1": {"transpose": value(-0.25, n=4)}, "d2": {"transpose": value(0.0)}},
                second: {"d1": {"transpose": value(0.125, n=3)}, "d2": {"transpose": nothing("x")}},
            },
            "signed_by_model_perturbation": {
                first: {"transpose": value(-0.125)},
                second: {"transpose": nothing(part)},
            },
            "absolute_by_model_dataset_perturbation": {
                first: {"d1": {"transpose": value(0.25)}, "d2": {"transpose": value(0.1)}},
                second: {"d1": {"transpose": value(0.2)}, "d2": {"transpose": nothing("x")}},
            },
            "absolute_by_model_dataset": {
                first: {"d1": value(0.25, n=4), "d2": value(0.1, n=4)},
                second: {"d1": value(0.2, n=3), "d2": nothing("no pair with its baseline", n=0)},
            },
            "absolute_by_dataset": {"d1": value(0.225), "d2": nothing("no value in: " + second)},
            "absolute_by_model": {first: value(0.175), second: nothing(part)},
        },
        "separability": {
            "by_dataset": {
                "d1": value(1.0, intervals={first: [0.4, 0.55], second: [0.6, 0.8]}),
                "d2": nothing("a resample has no scores of " + second),
            },
            "pooled": value(0.0, intervals={first: [0.2, 0.6], second: [0.5, 0.8]}),
            "stratified": nothing("a resample has no scores of " + second),
        },
        "dataset_agreement": {
            "tau_b": {
                "d1": {"d1": value(1.0), "d2": value(-0.5)},
                "d2": {"d1": value(-0.5), "d2": value(1.0)},
            },
            "mean_off_diagonal": {"d1": value(-0.5, n=1), "d2": value(-0.5, n=1)},
        },
        "kendall_w": {
            "by_dataset": {
                "d1": value(0.7, raters=4, raters_left_out=0),
                "d2": nothing("fewer than two raters", raters=0, raters_left_out=4),
            },
            "benchmark": nothing("fewer than two raters", raters=0, raters_left_out=4),
        },
        "w_growth": {
            "d1": {"10": value(0.95), "2": value(0.8), "1": value(0.7)},
            "d2": {q: nothing("fewer than two raters") for q in ("1", "2", "10")},
        },
        "configurations_vs_examples": [
            {
                "q": q,
                "e": e,
                "by_dataset": {"d1": value(w), "d2": value(w)},
                "mean_over_datasets": value(w),
            }
            for q, e, w in ((1, 1, 0.2), (1, 2, 0.3), (2, 1, 0.4), (2, 2, 0.6))
        ],
        "difficulty": {
            "by_example": {
                "d1": {"e1": value(0.2, n=8), "e2": value(1.0, n=7)},
                "d2": {"e1": value(0.25, n=4), "e3": nothing(none, n=0)},
            },
            "histogram": {"d1": [1, 0, 0, 1], "d2": [0, 1, 0, 0]},
            "score_histogram": {"d1": [6, 0, 0, 9], "d2": [2, 2, 0, 0]},
        },
        "families": {"greek": value(0.125)},
        "formats": {
            first: {
                "latex": [0.75, None, None, None, None],
                "html": [0.5, 0.25, None, None, None],
            },
            second: {"html": [0.25, 0.5, None, None, None]},
        },
        "further": {
            "performance_spread": {
                first: value(
                    0.25,
                    sd=0.125,
                    lowest="csv|none",
                    highest="html|none",
                    by_configuration={"csv|none": 0.25, "html|none": 0.5},
                ),
                second: nothing("a dataset has no score in some configuration"),
            },
            "impact_by_perturbation": {
                "transpose": {"all": nothing("no value in: d2"), "d1": value(0.225, n=2)}
            },
            "open_closed": {
                name: {
                    "open": {"all": value(0.375, n=1), "d1": value(0.5, n=1)},
                    "closed": {"all": nothing("no model with a value", n=0), "d1": value(0.75)},
                }
                for name in ("performance", "robustness")
            },
        },
    }


def _rates(first: str, second: str, first_name: str, second_name: str) -> dict[str, Any]:
    used = {"n_used": 2, "n_dropped_equal": 1, "n_dropped_incomplete": 0}
    tied = {"n_used": 0, "n_dropped_equal": 3, "n_dropped_incomplete": 0}
    return {
        "by_model_dataset": {
            first: {
                "d1": value_of(first_name, 0.5, second_name, 0.5, used),
                "d2": nothing("no example with a winner", **tied),
            },
            second: {
                "d1": value_of(first_name, 0.25, second_name, 0.75, used),
                "d2": nothing("no example with a winner", **tied),
            },
        },
        "by_model": {
            first: value_of(first_name, 0.5, second_name, 0.5, {}),
            second: value_of(first_name, 0.25, second_name, 0.75, {}),
        },
        "by_dataset": {
            "d1": value_of(first_name, 0.375, second_name, 0.625, used),
            "d2": nothing("no example with a winner", **tied),
        },
        "overall": value_of(first_name, 0.375, second_name, 0.625, {}),
    }


def value_of(
    first_name: str, a: float, second_name: str, b: float, more: dict[str, int]
) -> dict[str, Any]:
    return {"value": {first_name: a, second_name: b}, **more}
