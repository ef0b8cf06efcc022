"""The record of one case, and its line in `records.jsonl`."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, fields, replace
from hashlib import blake2b
from operator import attrgetter
from typing import Any, Literal

from pytest_tablebench.config.axes import AXES, SAME_QUESTION, names_on, with_axes
from pytest_tablebench.errors import PROMPT_CUT_BY_SERVER, SettingsError
from pytest_tablebench.util.entries import parsed_json

SCHEMA = 2
"""The version of every file in a run folder, raised when older readers would misread a file.

Schema 2 added `part`, `threshold`, `steps` and `tags`.
"""

ASSERTION = "assertion"
"""The `metric` of cases that only tests judge; they are right if all their tests pass."""

_ENCODE = json.JSONEncoder(default=str).encode
_TEXT, _NUMBER = (str, type(None)), (int, float, type(None))

OPTIONAL = (
    *("corrected", "why", "prompt_sent", "served"),
    *(axis.name for axis in AXES if axis.is_optional),
)
"""Fields that lines of records contain only if they have a value."""

Outcome = Literal["right", "wrong", "no_answer", "scored"]
"""The outcome of a case; `scored` is a score without a verdict."""


def outcome_of_score(score: float | None, passed: bool | None) -> Outcome:
    """Return the outcome for a score and a verdict, either of which may be None (missing)."""
    if score is None:
        return "no_answer"
    return "scored" if passed is None else "right" if passed else "wrong"


def reaches(score: float | None, threshold: float | None) -> bool | None:
    """Return whether a score reaches a threshold; None if either is missing."""
    return None if score is None or threshold is None else score >= threshold


@dataclass(frozen=True)
@with_axes
class Record:
    """One line of `records.jsonl`.

    Args:
        serializer: a name on each of `AXES`; None (not written) on an optional axis without one.
        repeat: 1 for the first time a case is asked, 2 for the second, and so on.
        score: the score by the dataset's own metric; None without an answer.
        threshold: the score from which the case is right; None without a metric or an answer, and
            in schema 1 unless the run names it.
        passed: the verdict; None without an answer or with the outcome `scored`.
        part: the entry of `parts` that equals the score; None if no entry does, or if unknown.
        checks: whether each test over the case passed, by its name; None if it failed early.
        prediction: the reply as the metric read it; `raw` is the reply as received.
        reason: why there is no answer; None with an answer.
        why: why the score is below 1, in one line; None (not written) if no metric says so.
        tags: properties of the question.
        preserves_meaning: False if the perturbation changes the meaning of the table.
        steps: the steps of an answer that took several: kind, digest of text or program, outcome,
            model, tokens, cost and seconds of each.
        transcript: the digest of the texts of these steps in texts.jsonl.gz.
        cluster: the table, document or paraphrase group that the example shares with others.
            Intervals take clusters, not examples, as independent. None in records of earlier
            versions, and if the example could not be loaded.
        prompt_tokens: None if unknown, never 0; so are the other token counts and the cost.
        reasoning_tokens: the part of `completion_tokens` that was thinking.
        reply_limit: the token limit of the reply.
        prompt_sent: about how many tokens the prompt has, if the server read a part of it; None
            (not written) if it read all.
        served: what answered, by the reply; None (not written) if the reply does not say it.
        corrected: the verdict of people on the gold, and the score by the corrected gold (see
            `CORRECTED`); None without a correction. Lines without a correction lack the field.
    """

    case_id: str
    model: str
    benchmark: str
    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    repeat: int = field(default=1, kw_only=True)
    strategy: str
    modality: str
    effort: str | None = field(default=None, kw_only=True)
    outcome: Outcome
    score: float | None = None
    threshold: float | None = field(default=None, kw_only=True)
    passed: bool | None = None
    metric: str | None = None
    part: str | None = field(default=None, kw_only=True)
    parts: Mapping[str, float] = field(default_factory=dict)
    checks: Mapping[str, bool | None] = field(default_factory=dict)
    prediction: Any = None
    raw: str | None = None
    references: tuple[str, ...] = ()
    reason: str | None = None
    why: str | None = field(default=None, kw_only=True)
    flags: tuple[str, ...] = ()
    tags: Mapping[str, str] = field(default_factory=dict, kw_only=True)
    preserves_meaning: bool = field(default=True, kw_only=True)
    prompt_digest: str | None = None
    steps: tuple[Mapping[str, Any], ...] = field(default=(), kw_only=True)
    transcript: str | None = field(default=None, kw_only=True)
    cluster: str | None = field(default=None, kw_only=True)
    latency_s: float | None = None
    prompt_tokens: int | None = None
    completion_tokens: int | None = None
    reasoning_tokens: int | None = field(default=None, kw_only=True)
    reply_limit: int | None = field(default=None, kw_only=True)
    prompt_sent: int | None = field(default=None, kw_only=True)
    served: str | None = field(default=None, kw_only=True)
    cost_usd: float | None = None
    from_store: bool = False
    corrected: Mapping[str, Any] | None = field(default=None, kw_only=True)

    @property
    def answer_mark(self) -> int | None:
        """A mark that is equal for equal answers; None without an answer.

        It marks the prediction, or the reply itself if no metric read it.
        """
        if self.score is None:
            return None
        return answer_mark(self.raw if self.prediction is None else self.prediction)

    @property
    def tallies(self) -> Mapping[str, float]:
        """The `TALLIES` of the case with the value 1, and the token limit of a cut reply."""
        return tallies_of(vars(self))

    @property
    def values(self) -> dict[str, Any]:
        """The fields by name, as in its line: without `OPTIONAL` ones that are None."""
        values = dict(vars(self))
        for name in OPTIONAL:
            if values[name] is None:
                del values[name]
        return values

    def to_line(self) -> str:
        """Return one line of ASCII JSON. Objects that JSON lacks are written as their `str`."""
        return _ENCODE({"schema": SCHEMA, **self.values}) + "\n"

    @classmethod
    def from_line(cls, line: str, thresholds: Mapping[str, float] | None = None) -> Record:
        """Parse a line.

        `thresholds` are the run's thresholds by dataset, for lines of schema 1. Raises `ValueError`
        for an incomplete or malformed line, `SettingsError` for a newer schema.
        """
        data = parsed_json(line)
        if not isinstance(data, dict):
            raise ValueError("not a record")
        check_schema(data, "records.jsonl")
        try:
            record = cls(**{name: value for name, value in data.items() if name in _NAMES})
        except TypeError as error:
            raise ValueError(str(error)) from None
        if not isinstance(record.case_id, str):
            raise ValueError("its case_id is not text")
        if not (isinstance(record.part, _TEXT) and isinstance(record.threshold, _NUMBER)):
            raise ValueError("its part is not text, or its threshold is not a number")
        if not (
            isinstance(record.tags, dict)
            and all(isinstance(tag, str) for tag in record.tags.values())
        ):
            raise ValueError("its tags do not map names to texts")
        if not (isinstance(record.steps, tuple | list) and all(map(_is_step, record.steps))):
            raise ValueError("its steps are not objects with texts")
        for name in ("cluster", "why", *(axis.name for axis in AXES if axis.is_optional)):
            if not isinstance(getattr(record, name), _TEXT):
                raise ValueError(f"its {name} is not text")
        if not (record.corrected is None or is_corrected_score(record.corrected)):
            raise ValueError("its corrected score is damaged")
        if record.threshold is None and record.score is not None and record.metric != ASSERTION:
            record = replace(record, threshold=(thresholds or {}).get(str(record.dataset)))
        return record


CUTS = ("cut_off", "truncated")
"""How a token limit can end a reply: before the answer (a reason), or within it (a flag)."""

UNCLEAR = "unclear"
"""The flag of a reply of which no rule decides whether it is right; it counts as wrong."""

_REASONS = frozenset({CUTS[0], PROMPT_CUT_BY_SERVER})

TALLIES = (*CUTS, UNCLEAR, PROMPT_CUT_BY_SERVER)
"""What runs count of a case besides its score."""

CUT_AT = "limit"
"""The key of the limit, in tokens, in the tallies of a cut reply."""

READ, SENT = "read", "sent"
"""The keys of the tokens of a prompt that the server cut, in the tallies of its case."""

_NOTHING: Mapping[str, float] = {}


def tallies_of(record: Mapping[str, Any]) -> Mapping[str, float]:
    """Return the `TALLIES` of a record, each with the value 1; empty without any.

    The token limit of a cut reply is added, and the tokens of a prompt that the server cut.
    """
    reason, flags, limit = record.get("reason"), record.get("flags"), record.get("reply_limit")
    names = flags if isinstance(flags, tuple | list) else ()
    if not names and reason not in _REASONS:
        return _NOTHING
    tallies = {name: 1.0 for name in TALLIES if name in names or name == reason}
    if isinstance(limit, int) and not tallies.keys().isdisjoint(CUTS):
        tallies[CUT_AT] = float(limit)
    read, sent = record.get("prompt_tokens"), record.get("prompt_sent")
    if PROMPT_CUT_BY_SERVER in tallies and isinstance(read, int) and isinstance(sent, int):
        tallies |= {READ: float(read), SENT: float(sent)}
    return tallies


CORRECTED = ("verdict", "left_out", "score", "passed", "parts")
"""The entries of `Record.corrected`.

`verdict` is the verdict of the correction. `left_out` is why corrected figures leave the case out.
Else `score`, `passed` and `parts` are the same as the record's fields of these names, by the
corrected gold; a case without an answer has only the verdict.
"""


def is_corrected_score(value: object) -> bool:
    """Return whether a value of JSON is a correct `Record.corrected`."""
    if not isinstance(value, dict) or not isinstance(value.get("verdict"), str):
        return False
    score, parts = value.get("score"), value.get("parts", {})
    is_score = score is None or (isinstance(score, int | float) and 0 <= score <= 1)
    return (
        is_score
        and isinstance(value.get("left_out"), _TEXT)
        and isinstance(value.get("passed"), bool | None)
        and isinstance(parts, dict)
        and all(isinstance(part, int | float) for part in parts.values())
    )


def _is_step(value: object) -> bool:
    return (
        isinstance(value, dict)
        and isinstance(value.get("text"), _TEXT)
        and isinstance(value.get("picture"), _TEXT)
    )


_NAMES = {item.name for item in fields(Record)}


def answer_mark(answer: Any) -> int | None:
    """Return a digest of 8 bytes as a number other than 0; None without an answer."""
    if answer is None:
        return None
    text = answer if isinstance(answer, str) else json.dumps(answer, sort_keys=True, default=str)
    digest = blake2b(text.encode("utf-8", "surrogatepass"), digest_size=8).digest()
    return int.from_bytes(digest, "big", signed=True) or 1


def case_key(record: Record) -> str:
    """Return the case id without the model, which matches the same case in other models' runs.

    It contains the names on axes that do not change the question if the run
    has several, because such runs are compared name by name.
    """
    # Only the name of the dataset may contain slashes; the other parts are slugs.
    parts = str(record.case_id).split("/")
    parts, further = parts[: (count := str(record.dataset).count("/") + 4)], parts[count:]
    parts += [name for name in names_on(record, SAME_QUESTION) if name and name in further]
    return "/".join([*parts, f"r{record.repeat}"] if record.repeat > 1 else parts)


@dataclass(frozen=True, slots=True)
@with_axes
class ScoreRow:
    """A record without its texts: a row of the score table."""

    benchmark: str
    dataset: str
    example_id: str
    serializer: str
    perturbation: str
    score: float | None
    passed: bool | None
    reason: str | None
    repeat: int = 1
    checks: Mapping[str, bool | None] = field(default_factory=dict)
    strategy: str = "direct"
    modality: str = "text"
    effort: str | None = None
    parts: Mapping[str, float] = field(default_factory=dict)
    tags: Mapping[str, str] = field(default_factory=dict)
    answer_mark: int | None = None
    preserves_meaning: bool = True
    cluster: str | None = None
    tallies: Mapping[str, float] = field(default_factory=dict)
    corrected: Mapping[str, Any] | None = None

    @property
    def outcome(self) -> Outcome:
        """The outcome of the case."""
        return outcome_of_score(self.score, self.passed)


row_values: Callable[[Record | ScoreRow], tuple[Any, ...]] = attrgetter(
    *(item.name for item in fields(ScoreRow))
)
"""Return the fields of a record's `ScoreRow`, in order."""


def check_schema(data: Mapping[str, Any], file: str) -> None:
    """Raise `SettingsError` for a file of a newer schema."""
    schema = data.get("schema", SCHEMA)
    if not isinstance(schema, int) or schema > SCHEMA:
        raise SettingsError(
            f"{file} has schema {schema!r}, this version reads up to {SCHEMA}; upgrade "
            f"pytest-tablebench"
        )
