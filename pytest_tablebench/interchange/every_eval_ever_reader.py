"""Read files of every-eval-ever, and make cases of rows in its format."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from dataclasses import fields as fields_of
from hashlib import file_digest
from pathlib import Path, PurePosixPath
from typing import Any

from pytest_tablebench.errors import DataError
from pytest_tablebench.interchange._foreign import (
    Evaluation,
    ForeignCase,
    check,
    files_of,
    is_number,
    read_json,
    read_lines,
)
from pytest_tablebench.interchange.every_eval_ever import (
    PLACED,
    ROLES,
    SCHEMA_VERSION,
    TAG,
    TEXTS,
)
from pytest_tablebench.interchange.exporter import LIBRARY, PARAMETERS
from pytest_tablebench.results.record import Record
from pytest_tablebench.serializers.content import digest_of
from pytest_tablebench.util.entries import listing, mapping, parsed_json
from pytest_tablebench.util.names import printable, shortened, slug

_UNKNOWN = "unknown"
_TURNS = {message: turn for turn, message in ROLES.items()}

Row = tuple[Mapping[str, Any], str]
"""A row, and its location for messages."""


@dataclass(frozen=True)
class Metric:
    """The metric of an aggregate result: the name and the range of its rows' scores."""

    name: str
    low: float = 0.0
    high: float = 1.0
    lower_is_better: bool = False

    def scaled(self, data: Mapping[str, Any]) -> float:
        """Return the score of a row as a part of the range."""
        return float((data["evaluation"]["score"] - self.low) / (self.high - self.low))


def read_every_eval_ever(paths: Sequence[Path]) -> list[Evaluation]:
    """Read aggregate files, or folders of them, each with its rows in the same folder.

    Raises `DataError` with the file that cannot be read, has another version, or has no rows.
    """
    return [_evaluation(path) for path in files_of(paths, "*.json", "contains no .json file")]


def _evaluation(path: Path) -> Evaluation:
    facts = read_json(path)
    check(facts, "facts", str(path), "not an evaluation of every-eval-ever")
    if not facts["schema_version"].startswith("0."):
        version = shortened(facts["schema_version"], 20)
        raise DataError(f"{path}: unknown schema version {version}; known: {SCHEMA_VERSION}")
    detail = mapping(facts, "detailed_evaluation_results")
    named = detail.get("file_path")
    if not isinstance(named, str):
        raise DataError(f"{path}: contains only figures; a run needs the file of cases")
    # The path is the datastore's; the file is next to this one under the same name.
    rows_file = path.with_name(PurePosixPath(named).name or "unnamed")
    rows = list(read_lines(rows_file))
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
    name, library = facts["evaluation_id"], facts["eval_library"]
    for data, location in rows:
        if data.get("evaluation_id") != name:
            raise DataError(f"{location}: its `evaluation_id` differs from {path.name}")
    results = listing(facts.get("evaluation_results"))
    sent = [mapping(result, "generation_config", "generation_args") for result in results]
    params = next(filter(None, sent), {})
    is_ours = library["name"] == LIBRARY
    benchmark = name.partition("/")[0]
    return Evaluation(
        path,
        name,
        facts["model_info"]["name" if is_ours else "id"],
        "{name} {version}".format(**library),
        [*(_exported(rows) if is_ours else foreign_cases(rows, _metrics(results), benchmark))],
        {name: params[name] for name in PARAMETERS if params.get(name) is not None},
        exported=mapping(library, "additional_details") if is_ours else None,
        schema_version=facts["schema_version"],
    )


def _metrics(results: Sequence[Mapping[str, Any]]) -> dict[str, Metric]:
    metrics = {}
    for result in results:
        if not isinstance(config := result.get("metric_config"), dict):
            continue
        mark = str(result.get("evaluation_result_id") or result.get("evaluation_name"))
        low: Any = config.get("min_score")
        high: Any = config.get("max_score")
        has_bounds = is_number(low) and is_number(high) and high > low
        metrics[mark] = Metric(
            slug(str(config.get("metric_name") or config.get("metric_id") or mark)),
            *((float(low), float(high)) if has_bounds else (0.0, 1.0)),
            lower_is_better=config.get("lower_is_better") is True,
        )
    return metrics


def _name(text: str) -> str:
    """Return the name of a dataset: slugs separated by slashes."""
    return "/".join(slug(part) for part in text.split("/") if part.strip()) or "unnamed"


def _exported(rows: Sequence[Row]) -> Iterator[ForeignCase]:
    """Yield the cases of rows that this package wrote, with the fields in their metadata."""
    _check_rows(rows)
    names = {item.name for item in fields_of(Record)} - PLACED | {"raw", "prediction"}
    for data, location in rows:
        metadata = data.get("metadata") or {}
        try:
            fields: dict[str, Any] = {
                name: text if name in TEXTS | {"raw"} else parsed_json(text)
                for name, text in metadata.items()
                if name in names
            }
        except ValueError as error:
            raise DataError(f"{location}: metadata: {shortened(str(error), 200)}") from None
        fields["tags"] = {
            name.removeprefix(TAG): text for name, text in metadata.items() if name.startswith(TAG)
        }
        fields |= {"dataset": data["evaluation_name"], "example_id": data["sample_id"]}
        question, prompt = data["input"]["raw"], data["input"].get("formatted")
        turns, _ = _conversation(data)
        yield _case((data, location), fields, prompt, "" if question == prompt else question, turns)


def foreign_cases(
    rows: Sequence[Row], metrics: dict[str, Metric], benchmark: str
) -> Iterator[ForeignCase]:
    """Yield the cases of another tool's rows; `metrics` has the metrics by result.

    The rows of one sample for several results are one case: all are its parts, and the first
    result with usable scores is its score. Several rows of a sample for one result are repeats.
    """
    _check_rows(rows)
    cases: dict[tuple[str, str, int], dict[str, Row]] = {}
    repeats: Counter[tuple[str, str, str]] = Counter()
    unusable = {result for result, metric in metrics.items() if metric.lower_is_better}
    for row in rows:
        name, sample = row[0]["evaluation_name"], row[0]["sample_id"]
        result = row[0].get("evaluation_result_id") or name
        repeats[name, sample, result] += 1
        cases.setdefault((name, sample, repeats[name, sample, result]), {})[result] = row
        if not 0 <= metrics.setdefault(result, Metric(slug(result))).scaled(row[0]) <= 1:
            unusable.add(result)
    for key, by_result in cases.items():
        fields = {"benchmark": _name(benchmark), **_fields(key, by_result, metrics, unusable)}
        row = next(iter(by_result.values()))
        question = row[0]["input"]
        turns, messages = _conversation(row[0])
        joined = "\n\n".join(str(message.get("content") or "") for message in messages)
        prompt = question.get("formatted") or (question["raw"] if turns is None else joined)
        if prompt:
            fields["prompt_digest"] = digest_of(prompt)
        yield _case(row, fields, prompt, question["raw"], turns)


def _check_rows(rows: Sequence[Row]) -> None:
    for data, location in rows:
        check(data, "row", location, "not a row of every-eval-ever")
        if (data.get("output") is None) == (data.get("messages") is None):
            raise DataError(f"{location}: needs either `output` or `messages`")


def _fields(
    key: tuple[str, str, int],
    rows: Mapping[str, Row],
    metrics: Mapping[str, Metric],
    unusable: set[str],
) -> dict[str, Any]:
    """Return the identity and the scores of a case."""
    name, sample, repeat = key
    usable = [result for result in rows if result not in unusable]
    result = next(iter(usable or rows))
    data, location = rows[result]
    dataset, example = _name(name), slug(sample)
    case = "/".join((dataset, example, _UNKNOWN, "none"))
    fields: dict[str, Any] = {
        "case_id": f"{case}/r{repeat}" if repeat > 1 else case,
        "dataset": dataset,
        "example_id": example,
        "repeat": repeat,
        "serializer": _UNKNOWN,
        "perturbation": "none",
        "strategy": "direct",
        "modality": "text",
        "tags": {n: text for n, text in mapping(data, "metadata").items() if _is_tag(text)},
    }
    if data.get("error") and not _has_reply(data):
        return fields | {"metric": None, "outcome": "no_answer"}
    if not usable:
        raise DataError(
            f"{location}: none of its scores ({', '.join(map(printable, rows))}) is usable; a "
            f"score must be from 0 to 1 or within the bounds of its metric, and higher must be "
            f"better"
        )
    scores = {
        mark: metrics[mark].scaled(other) if mark in usable else other["evaluation"]["score"]
        for mark, (other, _) in rows.items()
    }
    return fields | {
        "metric": metrics[result].name,
        "outcome": "right" if data["evaluation"]["is_correct"] else "wrong",
        "score": scores[result],
        "part": metrics[result].name,
        "parts": {metrics[mark].name: score for mark, score in scores.items()},
        "flags": ["error"] if data.get("error") else [],
    }


def _is_tag(text: str) -> bool:
    """Return whether a metadata entry can be a tag: short and no JSON."""
    return len(text) <= 60 and not text.startswith(("{", "["))


def _has_reply(data: Mapping[str, Any]) -> bool:
    if data.get("output") is not None:
        return any(data["output"]["raw"])
    return any(
        message["role"] == "assistant" and message.get("content") for message in data["messages"]
    )


def _case(
    row: Row,
    fields: dict[str, Any],
    prompt: str | None,
    question: str,
    turns: Sequence[tuple[str, str]] | None,
) -> ForeignCase:
    """Add what a row contains besides the identity and the scores of its case."""
    data, location = row
    is_answered = fields.get("outcome") != "no_answer"
    fields["references"] = data["input"]["reference"]
    if is_answered:
        fields.setdefault("score", float(data["evaluation"]["score"]))
        is_judged = fields.get("outcome") != "scored"
        fields["passed"] = data["evaluation"]["is_correct"] if is_judged else None
    else:
        fields |= {"score": None, "passed": None, "reason": data.get("error") or "unknown"}
    if turns is not None:
        fields["transcript"] = fields.get("transcript") or digest_of(json.dumps(turns))
        replies = [text for role, text in turns if role == "reply"]
        fields.setdefault("raw", replies[-1] if replies and is_answered else None)
    elif data["output"]["raw"]:
        fields["raw"] = data["output"]["raw"][0]
    final = [entry for entry in data["answer_attribution"] if entry.get("is_terminal")]
    if final and is_answered:
        fields.setdefault("prediction", str(final[-1].get("extracted_value")))
    used, latency = mapping(data, "token_usage"), mapping(data, "performance").get("latency_ms")
    fields.setdefault("prompt_tokens", used.get("input_tokens"))
    fields.setdefault("completion_tokens", used.get("output_tokens"))
    fields.setdefault("latency_s", None if latency is None else latency / 1000)
    return ForeignCase(fields, location, prompt, question, turns)


def _conversation(
    data: Mapping[str, Any],
) -> tuple[list[tuple[str, str]] | None, Sequence[Mapping[str, Any]]]:
    """Return a row's turns, None if it has no messages, and the messages of its prompt."""
    messages = data.get("messages")
    if messages is None:
        return None, ()
    # The messages before the first reply are the prompt.
    roles = [message["role"] not in {"user", "system"} for message in messages]
    end = roles.index(True) if True in roles else len(roles)
    turns = []
    for message in messages[end:]:
        role, content = str(message.get("role")), message.get("content")
        for call in message.get("tool_calls") or ():
            arguments = call.get("arguments") or {}
            text = arguments.get("text") if set(arguments) == {"text"} else json.dumps(arguments)
            turns.append(("program", str(text)))
        if content is not None:
            turns.append((_TURNS.get(role, role), str(content)))
    return turns, messages[:end]
