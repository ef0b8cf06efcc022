"""Replays of ToRR's records: metrics, serializers, perturbations, prompts, draws, analyses."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from pytest_tablebench import Table, analyse, perturb, postprocess, score, score_answer, serialize
from pytest_tablebench.datasets import Example, PromptParts, text_key
from pytest_tablebench.errors import TableError
from pytest_tablebench.metrics import run_chain
from pytest_tablebench.metrics._fin_qa_equality import same_programs
from pytest_tablebench.metrics._fin_qa_program import execute, script_rows, tokens_of
from pytest_tablebench.strategies import Demonstration, DemonstrationPool, assemble
from pytest_tablebench.util.seeds import seeded_random

from .replay import Record, differences, replays

TABLEBENCH_CHAIN = (
    "take_first_non_empty_line",
    "lower_case",
    "remove_punctuations",
    "remove_articles",
    "fix_whitespace",
)
DATASETS: dict[tuple[str, tuple[str, ...]], tuple[str, ...]] = {
    ("rouge", ("lower_case",)): ("numericnlg", "scigen"),
    ("rouge", TABLEBENCH_CHAIN): ("tablebench_da", "tablebench_fc", "tablebench_nr"),
}
"""Datasets whose whole chain and metric a record speaks about, beside those by metric alone."""

BY_METRIC = {"wikitq": "wikitq", "tab_fact": "tabfact", "turl": "turl_cta", "fin_qa": "finqa"}
MAIN = {
    "f1_strings": "f1_strings",
    "fin_qa": "program_accuracy",
    "rouge": "rougeL",
    "tab_fact": "f1_micro",
    "turl": "f1_micro",
    "wikitq": "f1_strings",
}
"""The part that is each metric's score."""


# Metrics


@replays("postprocessor")
def replay_postprocessor(record: Record) -> list[str]:
    return differences(postprocess(record["name"], record["input"]), record["expected"])


@replays("wikitq_judged")
def replay_wikitq_judged(record: Record) -> Iterator[str]:
    """What `fixed` must say of a reply; None where that is left open."""
    if record["expected_fixed"] is None:
        return
    found = score_answer("wikitq", record["reply"], record["references"])
    yield from differences(found.value == 1.0, record["expected_fixed"], "right")


@replays(*(f"metric.{name}" for name in MAIN))
def replay_metric(record: Record) -> Iterator[str]:
    metric, chain = record["metric"], record["postprocessors"]
    prediction = run_chain(chain, record["prediction"])
    processed = [run_chain(chain, text) for text in record["references"]]
    if "processed" in record:
        read = {"prediction": prediction, "references": processed}
        yield from differences(read, record["processed"], "processed")
    context = {name: record[name] for name in ("table", "answer") if name in record}
    found = score(metric, prediction, processed, compat="reference", **context)
    yield from differences(dict(found.parts), record["expected"], "parts")
    yield from differences(found.value, found.parts[MAIN[metric]], "value")
    names = DATASETS.get((metric, tuple(chain)), ())
    for name in (BY_METRIC[metric],) if metric in BY_METRIC else names:
        whole = score_answer(
            name, record["prediction"], record["references"], compat="reference", **context
        )
        yield from differences(dict(whole.parts), record["expected"], name)
    if "official_script_with_list_table" in record:
        yield from _finqa_script(record, prediction, processed[0])


def _finqa_script(record: Record, prediction: Any, gold: Any) -> Iterator[str]:
    """What differs from FinQA's own script, run on the same table given as rows."""
    expected = record["official_script_with_list_table"]
    tokens = tokens_of(prediction)
    outcome = execute(tokens, script_rows(record["table"]))
    value = outcome.value
    yield from differences(tokens, expected["tokens"], "tokens")
    yield from differences(outcome.invalid, bool(expected["invalid"]), "invalid")
    result = str(value) if isinstance(value, complex) else value
    yield from differences(result, expected["result"], "result")
    for first, second, order in (
        (gold, prediction, "equal_program_gold_first"),
        (prediction, gold, "equal_program_prediction_first"),
    ):
        # Where the script stops, whoever calls it counts the programs as different.
        same = same_programs(tokens_of(first), tokens_of(second))
        yield from differences(same, expected[order] is True, order)


@replays("metric.tab_fact_batch", "metric.turl_batch")
def replay_batch(record: Record) -> Iterator[str]:
    metric, chain = record["metric"], record["postprocessors"]
    predictions = [run_chain(chain, text) for text in record["predictions"]]
    references = [[run_chain(chain, text) for text in texts] for texts in record["references"]]
    found = score(metric, predictions, references, compat="reference")
    yield from differences(dict(found.parts), record["expected"], "parts")
    yield from differences(found.value, found.parts[record["main_score"]], "value")
    single = metric.removesuffix("_batch")
    for place, expected in enumerate(record.get("instances", ())):
        one = score(single, predictions[place], references[place], compat="reference")
        yield from differences(dict(one.parts), expected, f"instance {place}")


# Tables


@replays("serializer")
def replay_serializer(record: Record) -> list[str]:
    table = Table(record["table"]["header"], record["table"]["rows"], name=record["id"])
    name, expected = record["serializer"], record["expected"]
    if isinstance(expected, str):
        # What pandas 2 gives, as in the published runs, whatever is installed here.
        return differences(serialize(table, name), expected)
    try:
        text = serialize(table, name)
    except TableError as error:
        message = str(error)
        return [f"{part} is not in: {message}" for part in _named(record) if part not in message]
    return [f"{text!r:.100} instead of {expected['error']}"]


def _named(record: Record) -> list[str]:
    """What the refusal of a table that a format cannot hold has to name."""
    header, rows = record["table"]["header"], record["table"]["rows"]
    error = record["expected"]["error"]
    if error in {"IndexError", "ValueError"}:
        row = next(number for number, row in enumerate(rows, 1) if len(row) > len(header))
        place = f"row {row}, column {len(header) + 1}"
    elif error == "TypeError":
        column = next(number for number, name in enumerate(header, 1) if type(name) is not str)
        place = f"header, column {column}"
    else:
        place = "no rows" if header else "no columns"
    return [repr(record["id"]), repr(record["serializer"]), place]


@replays("perturbation")
def replay_perturbation(record: Record) -> Iterator[str]:
    before = Table(record["table"]["header"], record["table"]["rows"], name=record["table_id"])
    arguments = {"times": record["times"]} if "times" in record else {}
    after = perturb(before, record["perturbation"], **arguments)
    if perturb(before, record["perturbation"], **arguments) != after:
        yield "a second time it is another table"
    if record["deterministic"]:
        found, expected = repr(after.as_mapping()), repr(record["expected"])
        if found != expected:
            yield f"{found:.200} instead of {expected:.200}"
        yield from _facts(before, after, record)
    else:
        # The reference draws these from the process-wide generator: only what holds for every
        # draw can be compared.
        yield from _drawn(before, after, record)


def _facts(before: Table, after: Table, record: Record) -> Iterator[str]:
    """What differs from the properties that the record says in words."""
    expected = dict(record.get("properties", {}))
    if "row_order" in record:
        rows = tuple(before.rows[index] for index in record["row_order"])
        yield from [] if after.rows == rows else ["another order of rows"]
    facts: dict[str, Any] = {
        "rows": len(after.rows),
        "row_count": len(after.rows),
        "columns": len(after.header),
        "corner": after.header[0] if after.header else None,
        "header_unchanged": after.header == before.header,
        "row_multiset_preserved": Counter(map(repr, after.rows)) == Counter(map(repr, before.rows)),
        "column_multiset_preserved_with_header": _columns(after) == _columns(before),
    }
    if expected.pop("column_names", None) is not None:
        names = tuple(str(number) for number in range(len(before.rows)))
        yield from [] if after.header[1:] == names else ["other column names"]
    # A property nobody knows here is a difference: it must be looked at.
    yield from differences({key: facts.get(key) for key in expected}, expected, "properties")


def _drawn(before: Table, after: Table, record: Record) -> Iterator[str]:
    name = str(record["perturbation"]).partition("[")[0]
    if name == "shuffle_cols_names":
        if Counter(after.header) != Counter(record["expected"]["header"]):
            yield "other column names"
        yield from differences([list(row) for row in after.rows], record["expected"]["rows"])
        return
    if after.header != before.header:
        yield "another header"
    if name == "truncate_rows":
        remaining = iter(map(repr, before.rows))
        if len(after.rows) != len(record["expected"]["rows"]):
            yield f"{len(after.rows)} rows instead of {len(record['expected']['rows'])}"
        if not all(repr(row) in remaining for row in after.rows):
            yield "no subsequence of the rows"
    elif name == "insert_empty_rows":
        properties = record["properties"]
        empty = tuple(properties["empty_row"])
        # A row that was empty before cannot be told from an inserted one, so all go.
        kept, were = ([row for row in table.rows if row != empty] for table in (after, before))
        if kept != were or len(after.rows) != properties["rows"]:
            yield "not the same table with empty rows"
        if len(after.rows) - len(kept) != len(properties["all_empty_row_positions"]):
            yield "another number of empty rows"
    else:
        yield f"nobody knows what must contain for {name}"


def _columns(table: Table) -> Counter[str]:
    return Counter(
        repr((name, [row[position] for row in table.rows]))
        for position, name in enumerate(table.header)
    )


# Prompts and draws


@replays("prompt")
def replay_prompt(record: Record) -> list[str]:
    parts = PromptParts(record["instruction"], record["source"], record["target_prefix"])
    shown = [Demonstration(demo["source"], demo["target"]) for demo in record["demos"]]
    return differences(assemble(parts, shown, compat="reference"), record["expected"])


@replays("generator")
def replay_generator(record: Record) -> list[str]:
    draw = seeded_random(record["sub_seed"])
    drawn = [draw.random() for _ in record["first_randoms"]]
    numbers = list(range(10))
    draw.shuffle(numbers)  # goes on from the numbers drawn
    return differences(drawn, record["first_randoms"], "randoms", tolerance=0) + differences(
        numbers, record["shuffled_range_10"], "shuffled"
    )


@replays("split_lottery")
def replay_split_lottery(record: Record) -> Iterator[str]:
    from pytest_tablebench.datasets.torr.tablebench import split_lottery

    draw = seeded_random("test")
    names = list(record["mix"])
    # Each split is so many percent of the one file: "test[20%]".
    weights = [int(share[len("test[") : -len("%]")]) / 100 for share in record["mix"].values()]
    splits: dict[str, list[int]] = {name: [] for name in names}
    for index in range(record["n"]):
        [name] = draw.choices(names, weights=weights)
        splits[name].append(index)
    yield from differences(splits, record["expected"])
    own = split_lottery(record["n"])
    for name, expected in record["expected"].items():
        yield from differences([n for n, split in enumerate(own) if split == name], expected, name)


@dataclass
class Items:
    """A pool of demonstrations in memory."""

    examples: list[Example]

    def __len__(self) -> int:
        return len(self.examples)

    def key(self, index: int) -> Hashable:
        return text_key(self.examples[index])

    def __getitem__(self, index: int) -> Example:
        return self.examples[index]


def item(question: str, table: Record, *, question_first: bool = True) -> Example:
    """An example with a question and a table, in one or the other order."""
    shown = Table(table["header"], table["rows"])
    inputs: dict[str, Any] = {"question": question, "table": shown}
    if not question_first:
        inputs = {"table": shown, "question": question}
    return Example("x", inputs, question, ("1",), "1")


@replays("demo_choice")
def replay_demo_choice(record: Record) -> Iterator[str]:
    template = record["pool_question_format"].replace("{j}", "{}")
    pool = Items(
        [
            item(template.format(number), record["pool_table"])
            for number in range(record["pool_size"])
        ]
    )
    fields = record["instance_input_fields"]
    asked = item(
        fields["question"], fields["table"], question_first=next(iter(fields)) == "question"
    )
    drawn = DemonstrationPool(pool, lambda table: table).draw(asked, record["num_demos"])
    yield from differences(drawn, record["expected"])
    # An item with the example's own inputs is never shown as its demonstration.
    same = [place for place, one in enumerate(pool.examples) if one.inputs == asked.inputs]
    left = record["pool_size"] - len(same)
    yield from differences(left, record["pool_after_removing_identical"], "pool")


# Analyses


@replays("analysis")
def replay_analysis(record: Record) -> Sequence[str]:
    return differences(analyse(record["records"], record["params"]), record["expected"])
