"""Gates on a judge's marks: undecided without labels, corrected with them."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from pytest_tablebench.claims.gates import GateResult, parse_gates
from pytest_tablebench.claims.summary import summary_of
from pytest_tablebench.claims.verdict import judge_run
from pytest_tablebench.cli import main
from pytest_tablebench.results.folder import RunFolder
from pytest_tablebench.results.labels import Label, read_labels, write_labels
from pytest_tablebench.results.record import Record, case_key
from pytest_tablebench.results.run import Run, load_run

EXAMPLES = 200


def record(number: int, mark: float, dataset: str = "d", **more: Any) -> Record:
    fields: dict[str, Any] = {"parts": {"gpt_eval": mark}, "part": "gpt_eval", **more}
    right = mark >= 0.5
    return Record(
        f"{dataset}/e{number}/html/none", "m", "b", dataset, f"e{number}", "html", "none",
        strategy="direct", modality="text", outcome="right" if right else "wrong", score=mark,
        passed=right, threshold=0.5, raw=f"{dataset} {number}", **fields,
    )  # fmt: skip


@dataclass
class World:
    """A judge that calls 80 % right, where people call 60 % right: its errors are lenient."""

    path: Path
    records: list[Record] = field(default_factory=list)
    truth: dict[str, float] = field(default_factory=dict)

    def write(self, name: str = "run", labels: int = 0, **facts: Any) -> Run:
        folder = RunFolder(self.path / name)
        for item in self.records:
            folder.append(item.to_line())
        folder.write_run({"model": "m", "judge": "a/judge", "status": "complete", **facts})
        folder.close()
        if labels:
            write_labels(self.path / name, self.labels(labels))
        return load_run(self.path / name)

    def labels(self, number: int) -> list[Label]:
        chosen = np.random.default_rng(5).permutation(len(self.records))[:number]
        picked = [self.records[place] for place in chosen]
        return [
            Label(case_key(item), self.truth[case_key(item)], "ann", answer=item.answer_mark)
            for item in picked
        ]


@pytest.fixture
def world(tmp_path: Path) -> World:
    made = World(tmp_path)
    for number in range(EXAMPLES):
        mark, truth = (1.0, 1.0) if number % 5 < 3 else (float(number % 5 == 3), 0.0)
        made.records.append(record(number, mark))
        made.truth[case_key(made.records[-1])] = truth
    return made


def judged(run: Run, *texts: str, **options: Any) -> list[GateResult]:
    return list(judge_run(run, parse_gates(texts), **options).gates)


GATES = (
    "d.performance >= 0.5",
    "d.performance >= 0.75",
    "d.gpt_eval >= 0.75",
    "d.pass_rate >= 0.75",
)


def test_without_labels_a_gate_on_marks_is_undecided(world: World) -> None:
    run = world.write()
    results = judged(run, *GATES, "d.robustness >= 0.1", "d.no_answer <= 0.1")
    assert [result.state for result in results] == ["undecided"] * 5 + ["holds"]
    assert all(result.reason.startswith("judge not calibrated") for result in results[:5])
    for result in judged(run, *GATES, point=True):
        assert (result.state, result.value) == ("undecided", None)
    accepted = judged(run, *GATES, uncalibrated=True)
    assert accepted[0].state == "holds"
    assert accepted[0].value == pytest.approx(0.8)


def test_labels_correct_a_lenient_judge(world: World) -> None:
    run = world.write(labels=100)
    at_least_half, *others = judged(run, *GATES)
    assert [result.state for result in others] == ["fails"] * 3
    # The truth is .6; the judge alone says .8.
    assert at_least_half.value == pytest.approx(0.6, abs=0.06)
    assert at_least_half.interval is not None
    assert at_least_half.interval[0] < 0.6 < at_least_half.interval[1] < 0.75
    assert at_least_half.notes[-1].startswith("Corrected by 100 labels of people; the judge alone")
    assert "0.8." in at_least_half.notes[-1]


def test_labels_of_other_answers_do_not_count(world: World) -> None:
    labels = [replace(label, answer=1) for label in world.labels(100)]
    run = world.write()
    write_labels(run.path, labels)
    [result] = judged(load_run(run.path), "d.performance >= 0.5")
    assert "0 labels of these answers, and 20 are needed" in result.reason
    assert summary_of(load_run(run.path))["judged"]["n_others"] == 100


def test_enough_labels_over_too_few_tables_are_named_as_such(world: World) -> None:
    # Eight tables of 25 answers each; the first six have labels.
    world.records = [
        replace(item, cluster=f"t{place // 25}") for place, item in enumerate(world.records)
    ]
    run = world.write()
    labels = [
        Label(case_key(item), world.truth[case_key(item)], "ann", answer=item.answer_mark)
        for item in world.records[0:150:5]
    ]
    write_labels(run.path, labels)
    verdict = judge_run(load_run(run.path), parse_gates(["d.performance >= 0.5"]))
    assert verdict.exit_code == 11
    assert verdict.gates[0].reason.startswith(
        "judge not calibrated: 30 labels of these answers over 6 tables, and labels over 10 tables "
        "are needed; import labels"
    )


def test_an_undecided_corrected_gate_names_examples_and_labels(world: World) -> None:
    run = world.write(labels=40)
    [result] = judged(run, "d.performance >= 0.55")
    assert result.state == "undecided"
    assert ", and as many times the 40 labels, would make the gate" in result.needs
    assert (result.n_needed or 0) > EXAMPLES


def test_a_scope_with_another_dataset_corrects_only_the_judged_one(world: World) -> None:
    world.records += [
        record(number, float(number % 2), "plain", parts={"em": number % 2}, part="em")
        for number in range(EXAMPLES)
    ]
    run = world.write()
    labelled = World(world.path, world.records[:EXAMPLES], world.truth).labels(100)
    write_labels(run.path, labelled)
    [whole, alone, plain] = judged(
        run, "b.performance >= 0.7", "d.performance >= 0.5", "plain.performance >= 0.3"
    )
    assert whole.value == pytest.approx((alone.value or 0) / 2 + 0.25)
    assert whole.state == "fails"
    assert (plain.method, plain.state) == ("effective Clopper-Pearson", "holds")
    assert whole.se == pytest.approx(((alone.se or 0) ** 2 / 4 + (plain.se or 0) ** 2 / 4) ** 0.5)


def test_a_baseline_needs_labels_too_and_equal_answers_differ_by_nothing(world: World) -> None:
    run, old = world.write(labels=100), world.write("old", judge="b/judge")
    gate = "d.performance >= baseline - 0.05"
    [result] = judged(run, gate, baseline=old)
    assert "the baseline's answers" in result.reason
    assert "; the runs had different judges (b/judge, a/judge);" in result.reason
    write_labels(old.path, world.labels(100))
    [result] = judged(run, gate, baseline=load_run(old.path))
    assert result.state == "holds"
    assert result.value == pytest.approx(0, abs=1e-9)


def test_rejudge_uses_the_labels_of_the_folder(world: World, capsys: Any) -> None:
    run = world.write(labels=100)
    command = ["rejudge", str(run.path), "--bench-gate=d.performance >= 0.75"]
    assert main(command) == 10
    assert "mean gpt_eval by the judge 0.800" in capsys.readouterr().out
    assert main([*command, "--bench-judge-uncalibrated"]) == 11  # .8 with 200 examples
    (run.path / "labels.jsonl").unlink()
    assert main(command) == 11
    assert "judge not calibrated" in capsys.readouterr().out


def test_a_damaged_file_of_labels_is_one_line(world: World, capsys: Any) -> None:
    run = world.write()
    (run.path / "labels.jsonl").write_text('{"case_id": "d"}\n', encoding="utf-8")
    assert main(["rejudge", str(run.path)]) == 2
    assert "labels.jsonl, line 1: is not a label" in capsys.readouterr().err
    with pytest.raises(Exception, match="cannot be read"):
        read_labels(world.path / "nowhere")


def test_different_judges_are_compared_only_if_asked(world: World, capsys: Any) -> None:
    old, new = world.write("old", judge="a/old"), world.write("new", judge="a/new")
    assert main(["compare", str(old.path), str(new.path)]) == 2
    assert "judge: a/old against a/new" in capsys.readouterr().err
    assert main(["compare", str(old.path), str(new.path), "--different-judges"]) == 0


@pytest.mark.parametrize("entry", ["judge_params", "judge_prompts"])
def test_a_judge_is_pinned_by_parameters_and_prompt(world: World, entry: str) -> None:
    first, second = ({"judge": "j", entry: {"m": value, "n": 1}} for value in ("1", "2"))
    world.write("old", 0, **first)
    world.write("new", 0, **second)
    places = [str(world.path / name) for name in ("old", "new")]
    assert main(["compare", *places]) == 2
    assert main(["compare", *places, "--different-judges"]) == 0
