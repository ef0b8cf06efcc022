"""Cells with several repeats."""

from __future__ import annotations

from hypothesis import strategies as st

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.results import ScoreRow


def repeats(example, serializer, *scores, dataset="d", reason="timeout"):
    """Return the repeats of one cell; None is no answer, 1 passes."""
    return [
        ScoreRow(
            "b",
            dataset,
            example,
            serializer,
            "none",
            score,
            None if score is None else score >= 1.0,
            reason if score is None else None,
            number,
        )
        for number, score in enumerate(scores, start=1)
    ]


RUN = [
    *repeats("e1", "html", 1.0, 0.0, 0.5),  # mean 1/2, passed 1/3
    *repeats("e1", "csv", 1.0, 1.0, 1.0),  # mean 1, passed 1
    *repeats("e2", "html", 1.0, None, 1.0),  # mean 1, passed 1, one without an answer
    *repeats("e2", "csv", 0.0, 0.0, 1.0),  # mean 1/3, passed 1/3
]
"""
    repeats    e1 html    e1 csv    e2 html    e2 csv
    n, c       3, 1       3, 3      2, 2       3, 1
    pass@1     1/3        1         1          1/3
    pass@2     2/3        1         1          2/3       1 - C(2, 2) / C(3, 2) = 2/3
    pass@3     1          1         left out   1
    pass^2     0          1         1          0
    pass^3     0          1         left out   0
    sd         1/2        0         0          sqrt(1/3)  of 0, 0, 1: (2 * 1/9 + 4/9) / 2 = 1/3
    range      1          0         0          1
"""


def dataset_scope(records, dataset="d"):
    return summarize(records)["benchmarks"]["b"]["datasets"][dataset]


SCORES = st.none() | st.sampled_from([0.0, 0.1, 0.3, 0.7, 1.0]) | st.floats(0, 1)


@st.composite
def runs(draw, scores=SCORES, most=4):
    n = draw(st.integers(1, most))
    return [
        cell
        for dataset in ["d", "other"][: draw(st.integers(1, 2))]
        for example in range(draw(st.integers(1, 4)))
        for serializer in ["html", "csv"][: draw(st.integers(1, 2))]
        for cell in repeats(
            f"e{example}",
            serializer,
            *draw(st.lists(scores, min_size=n, max_size=n)),
            dataset=dataset,
        )
    ]
