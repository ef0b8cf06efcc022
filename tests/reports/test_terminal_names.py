"""Names from a run folder are escaped in the terminal."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from pytest_tablebench.claims.summary import summarize
from pytest_tablebench.results import ScoreRow
from tests.support.printed import summary_lines

NAMES = st.text(st.characters(), min_size=1, max_size=90)


@given(benchmark=NAMES, datasets=st.lists(NAMES, min_size=2, max_size=2, unique=True), axis=NAMES)
def test_every_name_of_a_run_is_escaped_in_the_terminal(
    benchmark: str, datasets: list[str], axis: str
) -> None:
    # An example with two answers, one with none, and one without an answer in the other dataset.
    answers: list[tuple[str, str, str, float | None]]
    answers = [(datasets[0], "e1", axis, 1.0), (datasets[0], "e1", f"{axis}2", 0.0)]
    answers += [(datasets[0], "e2", axis, None), (datasets[1], "e1", axis, None)]
    cells = [
        ScoreRow(
            benchmark=benchmark,
            dataset=dataset,
            example_id=example,
            serializer=name,
            perturbation=name,
            score=score,
            passed=None if score is None else score == 1.0,
            reason=axis if score is None else None,
        )
        for dataset, example, name, score in answers
    ]
    for line in summary_lines(summarize(cells)):
        assert line.isprintable()
