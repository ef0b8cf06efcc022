"""Merging the parts of a run."""

from __future__ import annotations

import json
import random
import tempfile
from collections import Counter
from collections.abc import Iterable
from hashlib import sha256
from pathlib import Path
from typing import Any

import pytest
from hypothesis import Phase, given, settings
from hypothesis import strategies as st

from pytest_tablebench.claims.merge import read_merge
from pytest_tablebench.cli import main
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.results import read_facts, read_records
from pytest_tablebench.results.snapshots import (
    Entry,
    change_of,
    changes_data,
    read_changes,
    write_changes,
)
from pytest_tablebench.results.texts import TEXTS, TextWriter, read_texts
from tests.support.matrix import FULL
from tests.support.run_folders import GRID, record, write_run
from tests.support.run_parts import TWO, cases, halves, part

SPENT = ("latency_s", "prompt_tokens", "completion_tokens", "cost_usd", "from_store")


def records_by_case(path: Path) -> dict[str, dict[str, Any]]:
    """Return the records of a folder by case, without cost, tokens and time."""
    return {
        case.case_id: {name: value for name, value in vars(case).items() if name not in SPENT}
        for case in read_records(path)
    }


def test_shards_of_several_efforts_are_merged(tmp_path: Path) -> None:
    scores = {"low": {"e1": 0.0, "e2": 0.5}, "high": {"e1": 1.0, "e2": 0.5}}
    parts = [
        part(
            tmp_path / example,
            number,
            2,
            [
                record(
                    example, "html", "none", of_example[example], effort=effort, tail=f"/{effort}"
                )
                for effort, of_example in scores.items()
            ],
        )
        for number, example in enumerate(("e1", "e2"), 1)
    ]
    merged = read_merge(parts).write(tmp_path / "merged").path
    summary = json.loads((merged / "summary.json").read_text())
    settings_of = summary["benchmarks"]["toys"]["efforts"]["settings"]
    figures = {
        name: (entry["performance"], entry["n_cases"]) for name, entry in settings_of.items()
    }
    assert figures == {"low": (0.25, 2), "high": (0.75, 2)}


ROW = st.lists(st.sampled_from([None, 0.0, 0.25, 1 / 3, 1.0]), min_size=4, max_size=4)


@settings(max_examples=60 if FULL else 6, deadline=None, phases=[Phase.explicit, Phase.generate])
@given(data=st.data(), rows=st.lists(ROW, min_size=1, max_size=8))
def test_any_split_merged_in_any_order_gives_the_whole_run(
    data: st.DataObject, rows: list[list[float | None]]
) -> None:
    draw = data.draw
    scores = {f"e{number}": row for number, row in enumerate(rows)}
    records = [
        record(
            example,
            *configuration,
            score,
            tags={"kind": f"k{len(example) + number % 2}"},
            repeat=repeat,
            tail="/r2" if repeat > 1 else "",
            checks={"test_a": None if score is None else score > 0.3},
        )
        for number, (example, row) in enumerate(scores.items())
        for configuration, score in zip(GRID, row, strict=True)
        for repeat in (1, 2)
    ]
    count = draw(st.integers(1, 4))
    numbers = {example: draw(st.integers(1, count)) for example in scores}
    sizes = [sum(number == n for number in numbers.values()) for n in range(1, count + 1)]
    facts = {"shards": {"toy": sizes}}
    with tempfile.TemporaryDirectory() as name:
        folder = Path(name)
        whole = write_run(folder / "whole", records)
        folders = []
        for number in range(1, count + 1):
            part_records = [record for record in records if numbers[record.example_id] == number]
            for copy in range(
                draw(st.integers(1, 2)) if part_records else 0
            ):  # a part may have no case
                random.Random(copy).shuffle(part_records)
                folders.append(
                    part(folder / f"{number}-{copy}", number, count, part_records, **facts)
                )
        merged = [read_merge(draw(st.permutations(folders))).write(folder / "once")]
        # In two steps too: a merged run can be merged again.
        first, *others = draw(st.permutations(folders))
        some = read_merge([first, *others[:1]]).write(folder / "some").path
        merged.append(read_merge([*others[1:], some]).write(folder / "twice"))
        for run in merged:
            assert records_by_case(run.path) == records_by_case(whole)
            assert json.loads((run.path / "summary.json").read_text()) == json.loads(
                (whole / "summary.json").read_text()
            )
            facts_of = read_facts(run.path).entries
            assert facts_of["status"] == "complete"
            assert facts_of["shard"] is None
            assert facts_of["cases_planned"] == facts_of["cases_recorded"] == len(records)
        lines = [(run.path / "records.jsonl").read_bytes() for run in merged]
        assert lines[0] == lines[1]


def test_the_merged_run_sums_calls_tokens_and_cost(tmp_path: Path) -> None:
    first, second = halves(
        tmp_path,
        end="2026-01-02T04:00:00+00:00",
        cost_usd=0.25,
        store_hits=2,
        by_dataset={"toy": {"threshold": 1.0, "does_not_apply": {"no rows": 3}}},
    )
    run = read_merge([second, first]).write(tmp_path / "out").facts
    assert (
        run.entries["calls_paid"],
        run.entries["prompt_tokens"],
        run.entries["completion_tokens"],
    ) == (8, 80, 8)
    assert (run.entries["cost_usd"], run.entries["store_hits"]) == (0.75, 2)
    assert run.entries["start"] == "2026-01-02T03:04:05+00:00"
    assert run.entries["end"] == "2026-01-02T04:00:00+00:00"
    assert run.entries["by_dataset"]["toy"]["does_not_apply"] == {"no rows": 3}
    assert [leaf["shard"] for leaf in run.entries["merged_from"]] == ["1/2", "2/2"]


def test_the_cost_is_unknown_if_one_part_does_not_know_it(tmp_path: Path) -> None:
    assert read_merge(halves(tmp_path, cost_usd=None)).facts.entries["cost_usd"] is None


def test_a_part_without_calls_leaves_the_cost_known(tmp_path: Path) -> None:
    unpaid = dict.fromkeys(("prompt_tokens", "completion_tokens", "cost_usd"))
    run = read_merge(halves(tmp_path, calls_paid=0, **unpaid)).facts
    assert (run.entries["cost_usd"], run.entries["prompt_tokens"]) == (0.5, 40)


@pytest.mark.parametrize(
    ("facts", "named"),
    [
        ({"model": "other"}, "model: m against other"),
        ({"compat": "reference"}, "compat: fixed against reference"),
        ({"seed": 3}, "seed: 0 against 3"),
        ({"limit": 5}, "limit: the dataset's own against 5"),
        ({"sample": 5}, "sample: none against 5"),
        ({"params": {"temperature": 1}}, "params.temperature: 0 against 1"),
        ({"datasets": {"toy": {"files": {"toy.json": "f" * 64}}}}, "the data is not the same"),
        ({"by_dataset": {"toy": {"threshold": 0.5}}}, "threshold: 1.0 against 0.5"),
        ({"shard": "2/3", "shards": {"toy": [1, 1, 1]}}, "is one of 2 parts, the second is one"),
        ({"shard": None, "shards": None}, "the first is not split, the second is one of 2 parts"),
        ({"shards": {"toy": [1, 5]}}, "split from different cases: of toy the first has 2"),
    ],
)
def test_a_part_of_a_different_run_is_refused(
    tmp_path: Path, facts: dict[str, Any], named: str
) -> None:
    with pytest.raises(SettingsError) as caught:
        read_merge(halves(tmp_path, **facts))
    assert named in str(caught.value)
    assert str(tmp_path / "a") in str(caught.value)


def test_a_part_answered_by_another_server_is_merged_with_a_note(tmp_path: Path) -> None:
    first, second = halves(tmp_path, api_base="http://two")
    data = read_facts(first).entries
    (first / "run.json").write_text(json.dumps({**data, "api_base": "http://one"}))
    [note] = read_merge([first, second]).notes
    assert note == "api_base differs: http://one and http://two (another server answered)"


def test_cases_recorded_twice_must_agree(tmp_path: Path) -> None:
    first, second = halves(tmp_path)
    again = part(tmp_path / "again", 1, 2, cases({"e1": [1.0, 1.0, None, 0.0]}), start="2026-01-03")
    with pytest.raises(SettingsError) as caught:
        read_merge([first, second, again])
    assert str(caught.value).startswith("2 cases with different records in two runs: ")
    assert "toy/e1/csv/transpose (" in str(caught.value)
    assert "toy/e1/html/transpose (" in str(caught.value)
    assert "toy/e1/csv/none" not in str(caught.value)
    assert str(again) in str(caught.value)


def test_of_two_records_of_a_case_the_one_with_an_answer_is_kept(tmp_path: Path) -> None:
    first, second = halves(tmp_path)
    answered = {"e1": [1.0, 0.0, 0.5, 1.0]}
    spent = {"latency_s": 2.5, "cost_usd": 1.0, "from_store": True}
    again = part(tmp_path / "again", 1, 2, cases(answered, **spent), start="2026-01-03")
    for order in ([first, again, second], [again, second, first]):
        merge = read_merge(order)
        assert merge.ended is None
        assert "1 case without an answer in one run" in merge.notes[-1]
        run = merge.write(tmp_path / order[0].name / "out")
        kept = {record.case_id: record for record in run.records}
        assert kept["toy/e1/html/none"].score == 0.5
        assert not kept["toy/e1/csv/none"].from_store


def test_missing_parts_are_named(tmp_path: Path) -> None:
    sizes = {"shards": {"toy": [1, 7, 0, 2, 1]}}
    parts = [part(tmp_path / f"{n}", n, 5, cases({f"e{n}": TWO["e1"]}), **sizes) for n in (1, 5)]
    merge = read_merge(parts)
    assert merge.ended == "parts 2, 4 of 5 are missing (9 examples)"  # part 3 has none
    run = merge.write(tmp_path / "out").facts
    assert (run.entries["status"], run.entries["shard"], run.entries["cases_planned"]) == (
        "incomplete",
        "1,5/5",
        None,
    )


def test_a_part_that_was_cut_off_leaves_the_whole_unfinished(tmp_path: Path) -> None:
    paths = halves(tmp_path, status="incomplete", ended="interrupted", cases_planned=9)
    merge = read_merge(paths)
    assert merge.ended == "part 2 of 2 was interrupted"
    assert merge.facts.entries["cases_planned"] == 13
    again = part(tmp_path / "again", 2, 2, cases({"e2": TWO["e2"]}), start="2026-01-03")
    assert read_merge([*paths, again]).ended is None


def test_texts_and_pictures_are_merged_without_duplicates(tmp_path: Path) -> None:
    paths = halves(tmp_path)
    picture = b"not really a picture"
    name = f"{sha256(picture).hexdigest()}.png"
    for number, path in enumerate(paths):
        (path / "media").mkdir()
        (path / "media" / name).write_bytes(picture)
        (path / "media" / ".DS_Store").write_bytes(b"x")
        texts = TextWriter(path / TEXTS)
        texts.prompt("shared", "what both ask")
        texts.prompt(f"own-{number}", "what one asks")
        texts.transcript("t", [("user", "a"), ("reply", "b")])
        texts.example(f"toy/e{number}/none", "?", [{"header": ["a"], "rows": [[number]]}])
        texts.close()
    out = read_merge(paths).write(tmp_path / "out").path
    assert [file.name for file in (out / "media").iterdir()] == [name]
    assert (out / "media" / name).read_bytes() == picture
    merged_texts = [vars_of(text) for text in read_texts(out / TEXTS)]
    both = [vars_of(text) for path in paths for text in read_texts(path / TEXTS)]
    assert sorted(map(repr, merged_texts)) == sorted({repr(text) for text in both})
    other = TextWriter(paths[1] / TEXTS)
    other.prompt("own-0", "not what the other run asked")
    other.close()
    with pytest.raises(SettingsError, match="the text of prompt own-0 differs"):
        read_merge(paths).write(tmp_path / "out2")
    assert not (tmp_path / "out2" / "run.json").exists()


def vars_of(text: Any) -> tuple[Any, ...]:
    return tuple(getattr(text, name) for name in text.__slots__)


@pytest.mark.parametrize(
    ("gate", "code"),
    [("toy.no_answer <= 0.2", 0), ("toy.no_answer <= 0.05", 10), ("toy.performance >= 0.5", 11)],
)
def test_gates_are_judged_on_the_merged_run(tmp_path: Path, gate: str, code: int) -> None:
    # One case of eight has no answer: all four of the first part would be a quarter.
    paths = [str(path) for path in halves(tmp_path, gates=[gate])]
    out = tmp_path / "out"
    assert main(["merge", *paths, "--out", str(out), "--no-page"]) == code
    facts = read_facts(out).entries
    assert facts["exit_code"] == code
    assert [gate_facts["gate"] for gate_facts in facts["gates"]] == [gate]
    # If a part is missing, no gate is decided.
    assert main(["merge", paths[1], "-o", str(tmp_path / "half"), "--no-page"]) == 11


def test_merge_writes_the_reports_of_the_merged_run(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    folder, out = tmp_path / "parts", tmp_path / "out"
    folder.mkdir()
    halves(folder)
    options = ["--junitxml", str(tmp_path / "junit.xml"), "--allure", "--summary"]
    assert main(["merge", str(folder), "-o", str(out), *options]) == 0
    assert (out / "report.html").stat().st_size > 10_000
    assert "toy" in (out / "summary.md").read_text()
    assert len(list((out / "allure").glob("*-result.json"))) == 8
    junit = (tmp_path / "junit.xml").read_text()
    assert junit.count("<testcase ") == 8
    assert 'tests="8" failures="3" errors="1"' in junit
    assert "m  (2 runs)" in capsys.readouterr().out
    unknown = ["-o", str(tmp_path / "x"), "--bench-gate", "tyo.em >= 1"]
    assert main(["merge", str(folder), *unknown]) == 2
    assert not (tmp_path / "x").exists()


def test_gates_of_a_merged_run_can_use_a_baseline(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    paths = [str(path) for path in halves(tmp_path)]
    base = write_run(tmp_path / "base", cases(TWO))
    gate = ["--bench-gate", "toy.performance >= baseline - 0.9"]
    out = ["-o", str(tmp_path / "out")]
    assert main(["merge", *paths, *gate, *out]) == 2
    assert "name its run folder with --bench-baseline=RUN" in capsys.readouterr().err
    assert main(["merge", *paths, *gate, *out, "--bench-baseline", str(base)]) == 0
    assert "same" in (tmp_path / "out" / "summary.md").read_text()
    unlike = write_run(tmp_path / "unlike", cases(TWO), compat="reference")
    options = ["-o", str(tmp_path / "out3"), "--bench-baseline", str(unlike)]
    assert main(["merge", *paths, *gate, *options]) == 2
    assert not (tmp_path / "out3").exists()


def changed(numbers: Iterable[int], stored: int, **more: Any) -> dict[str, Any]:
    """Return the changes of answers over these cases; every fifth verdict flipped."""
    changes = [
        change_of(
            f"d1/{n:04}/csv/none",
            "f.ambr",
            f"n{n}",
            Entry("right", 1.0, "old"),
            Entry("right" if n % 5 else "wrong", 0.0, f"new {n}"),
        )
        for n in numbers
    ]
    counts = Counter(change["kind"] for change in changes) + Counter(same=len(changes), no_answer=1)
    content: dict[str, Any] = {"updated": False, "problems": ["f.ambr: odd"], **more}
    return changes_data(counts, changes, files={"f.ambr": {"stored": stored}}, **content)


def test_changes_against_snapshots_are_merged(tmp_path: Path) -> None:
    parts = halves(tmp_path)
    for number, path in enumerate(parts):  # more changes than have texts in the file
        write_changes(path, changed(range(number, 2100, 2), 5000 + number))
    merged = read_merge(parts)
    assert merged.notes == ()
    changes = read_changes(merged.write(tmp_path / "whole").path)
    whole = changed(range(2100), 5001)
    whole["counts"]["no_answer"] = 2
    whole["files"]["f.ambr"]["unused"] = None
    assert changes == whole
    assert changes is not None
    assert ["text" in change["new"] for change in changes["changes"]].count(True) == 2000


def test_changes_that_one_part_lacks_are_left_out_with_a_note(tmp_path: Path) -> None:
    parts = halves(tmp_path)
    write_changes(parts[0], changed([1], 3))
    merged = read_merge(parts)
    assert merged.notes == ("snapshots.json is left out: 1 of the runs lack it",)
    assert read_changes(merged.write(tmp_path / "whole").path) is None
