"""Translate questions to the other language, checked by translating back (treb.md section 6.4)."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from pytest_tablebench.errors import ModelError, TableBenchError
from pytest_tablebench.generate.llm.prompts import (
    DIGITS,
    ask_for_translation,
    ask_solver,
    yes_no,
)
from pytest_tablebench.generate.llm.replies import plain_text, read_object, read_solution
from pytest_tablebench.generate.pair import (
    Other,
    Pair,
    RejectedError,
    parse_number,
    plain_question,
    says,
)
from pytest_tablebench.generate.question_maker import (
    CheckedQuestions,
    Conversation,
    Tally,
    digest_of,
    reply_text,
    values_of,
)
from pytest_tablebench.metrics import score
from pytest_tablebench.metrics.steps import Ask
from pytest_tablebench.metrics.typed_answer import typed_answer
from pytest_tablebench.metrics.typed_dates import read_moment
from pytest_tablebench.tables.table import Table

_CHUNK = 2_000
"""Characters of a table's texts in one request; the reply has to contain their translations."""

_MOST_CHUNKS = 20
_CHINESE = re.compile(r"[\u4e00-\u9fff]")
_LATIN = re.compile(r"[a-zA-Z]+")
_OTHER = {"en": "zh", "zh": "en"}
_LISTS = {"list", "ordered_list"}


class _AnsweredQuestion(Protocol):
    """A question of a dataset folder; see `datasets.folder`."""

    @property
    def id(self) -> str: ...
    @property
    def text(self) -> str: ...
    @property
    def answers(self) -> tuple[str, ...]: ...
    @property
    def context(self) -> Mapping[str, Any]: ...
    @property
    def tags(self) -> Mapping[str, str]: ...
    @property
    def perturbations(self) -> tuple[str, ...] | None: ...
    @property
    def metric(self) -> str | None: ...
    @property
    def threshold(self) -> float | None: ...
    @property
    def aliases(self) -> Mapping[str, tuple[str, ...]]: ...


@dataclass
class _Translations:
    by_text: dict[str, str] = field(default_factory=dict)

    def back(self) -> _Translations:
        return _Translations({translation: text for text, translation in self.by_text.items()})

    def of(self, table: Table) -> Table:
        def other(cell: Any) -> Any:
            return self.by_text.get(str(cell), cell)

        return Table(
            tuple(map(other, table.header)),
            tuple(tuple(map(other, row)) for row in table.rows),
            other(table.title) if table.title else None,
            name=table.name,
        )

    def inside(self, text: str) -> dict[str, str]:
        """Return the translations of the texts that occur in a text, the longest first."""
        folded = plain_question(text)
        names = [name for name in self.by_text if plain_question(name) in folded]
        return {name: self.by_text[name] for name in sorted(names, key=len, reverse=True)}


@dataclass(frozen=True)
class _Both:
    table: Table
    other: Table
    words: _Translations


class Translator(CheckedQuestions):
    """Translates the questions of one table after the other.

    Each question is translated, and translated back by an independent call. A solver answers the
    translated question from the translated table, and the back translation from the original table.
    Both answers have to be right.

    Arguments:
        model: translates.
        solver: answers.
        questions: by the name of their table.
        to: the language, `en` or `zh`; the questions are in the other one.
        threshold: the score from which an answer is right, for questions without a threshold.
    """

    def __init__(
        self,
        *,
        model: str,
        solver: str,
        questions: Mapping[str, Sequence[_AnsweredQuestion]],
        to: str,
        threshold: float = 1.0,
    ) -> None:
        super().__init__()
        self._model, self._solver, self._threshold = model, solver, threshold
        self._questions, self._to, self._from = questions, to, _OTHER[to]

    def propose(
        self,
        table: Table,
        tally: Tally,  # noqa: ARG002 - no question is rejected before its check
    ) -> Conversation[tuple[str, list[tuple[_Both, _AnsweredQuestion]]]]:
        """Translate the words of a table."""
        questions = self._questions[table.name or ""]
        try:
            words = yield from self._words(table)
        except RejectedError as error:
            raise RejectedError(f"not translated: {error.reason}") from None
        except ModelError as error:
            raise RejectedError(f"not translated: no reply: {error.reason}") from None
        both = _Both(table, words.of(table), words)
        texts = [question.text for question in questions]
        digest = digest_of(table.title, table.lines, texts)
        return digest, [(both, question) for question in questions]

    def check(
        self,
        proposal: tuple[_Both, _AnsweredQuestion],
        course: Counter[str],  # noqa: ARG002
    ) -> Conversation[Pair]:
        """Translate a question, translate it back, and let the solver answer both."""
        both, question = proposal
        words = both.words
        texts = [question.text, *_own_words(question, words)]
        reply = yield from reply_text(
            ask_for_translation(texts, words.inside(texts[0]), self._from, self._model)
        )
        translated, *others = read_texts(reply, texts)
        translations = words.by_text | dict(zip(texts[1:], others, strict=True))
        answers = self._answers(question, translations)
        if language_of(translated) != self._to:
            raise RejectedError("question is not translated")
        if _numbers(translated) != _numbers(question.text):
            raise RejectedError("numbers of the question have changed")
        if question.context["kind"] != "yes_no":
            _require_unsaid(question, translated, answers)
        yield from self._require_solved(both, question, translated, answers)
        return self._made(both.other, question, translated, answers, translations)

    def _words(self, table: Table) -> Conversation[_Translations]:
        cells = [table.title or "", *table.header, *(cell for row in table.rows for cell in row)]
        texts = list(dict.fromkeys(filter(_is_words, map(str, cells))))
        chunks = list(_chunks(texts))
        if len(chunks) > _MOST_CHUNKS:
            raise RejectedError("too long")
        replies = yield [
            reply_text(ask_for_translation(chunk, {}, self._from, self._model)) for chunk in chunks
        ]
        translations: list[str] = []
        for chunk, reply in zip(chunks, values_of(replies), strict=True):
            translations += read_texts(reply, chunk)
        if len(set(map(plain_question, translations))) < len(set(map(plain_question, texts))):
            raise RejectedError("two texts have become one")
        return _Translations(dict(zip(texts, translations, strict=True)))

    def _require_solved(
        self, both: _Both, question: _AnsweredQuestion, translated: str, answers: tuple[str, ...]
    ) -> Conversation[None]:
        """Raise `RejectedError` unless a solver is right in both languages; raises `ModelError`."""
        translations = both.words.back().inside(translated)
        outcomes = yield [
            reply_text(ask_for_translation([translated], translations, self._to, self._model)),
            reply_text(self._to_solver(both.other, question, translated, answers)),
        ]
        back, reply = values_of(outcomes)
        returned = read_texts(back, [translated])[0]
        if not self._is_right(reply, answers, question, self._to):
            raise RejectedError("translated question is answered differently")
        step = self._to_solver(both.table, question, returned, question.answers, is_back=True)
        reply = yield from reply_text(step)
        if not self._is_right(reply, question.answers, question, self._from):
            raise RejectedError("question translated back is answered differently")

    def _made(
        self,
        other: Table,
        question: _AnsweredQuestion,
        translated: str,
        answers: tuple[str, ...],
        translations: Mapping[str, str],
    ) -> Pair:
        context = question.context
        unit = context.get("unit", "")
        new_answers = dict(zip(question.answers, answers, strict=True))
        return Pair(
            id=f"{question.id}-{self._to}",
            question=translated,
            answers=answers,
            metric=question.metric or context["kind"],
            tolerance=context.get("tolerance", ""),
            unit=translations.get(unit, unit),
            tags={**question.tags, "language": self._to, "translation_of": question.id},
            perturbations=question.perturbations or (),
            other=Other(self._to, other),
            threshold="" if question.threshold is None else str(question.threshold),
            aliases={
                new_answers[answer]: tuple(translations.get(name, name) for name in names)
                for answer, names in question.aliases.items()
            },
        )

    def _answers(
        self, question: _AnsweredQuestion, translations: Mapping[str, str]
    ) -> tuple[str, ...]:
        if question.context["kind"] == "yes_no":
            yes, no = yes_no(self._to)
            says_yes = typed_answer(question.answers[0], [yes], kind="yes_no").value == 1.0
            return (yes if says_yes else no,)
        return tuple(translations.get(answer, answer) for answer in question.answers)

    def _to_solver(
        self,
        table: Table,
        question: _AnsweredQuestion,
        text: str,
        answers: Sequence[str],
        *,
        is_back: bool = False,
    ) -> Ask:
        """Return the request to the solver for the translation, or for the back translation."""
        return ask_solver(
            table,
            text,
            metric=_shape(question),
            language=self._from if is_back else self._to,
            number=int(is_back),
            model=self._solver,
            answers=answers,
        )

    def _is_right(
        self, reply: str, expected: Sequence[str], question: _AnsweredQuestion, language: str
    ) -> bool:
        """Return whether a solver's reply is right, by the rules of a run.

        Raises `RejectedError` for an invalid reply.
        """
        items = read_solution(reply, _shape(question), yes_no(language))
        metric = question.metric or "typed_answer"
        try:
            graded = score(metric, "\n".join(items), list(expected), **question.context)
        except TableBenchError:
            raise RejectedError("answer cannot be compared") from None
        least = self._threshold if question.threshold is None else question.threshold
        return graded.value >= least


def _own_words(question: _AnsweredQuestion, words: _Translations) -> list[str]:
    """Return the words of answers, aliases and unit that the table does not contain."""
    texts = [name for names in question.aliases.values() for name in names]
    texts.append(question.context.get("unit", ""))
    if question.context["kind"] != "yes_no":
        texts += question.answers
    return [text for text in dict.fromkeys(texts) if text not in words.by_text and _is_words(text)]


def _shape(question: _AnsweredQuestion) -> str:
    """Return the form of the solver's answer: text, list, number, or yes_no."""
    kind = question.context["kind"]
    if kind in _LISTS or len(question.answers) > 1:
        return "list"
    return kind if kind in {"number", "yes_no"} else "text"


def language_of(text: str) -> str:
    """Return the language of a text, `en` or `zh`; names may be in the other one."""
    return "zh" if len(_CHINESE.findall(text)) > len(_LATIN.findall(text)) else "en"


def read_texts(reply: str, texts: Sequence[str]) -> list[str]:
    """Return the translations of texts, in their order. Raises `RejectedError`."""
    translations = read_object(reply, ["texts"], "reply is not a list of texts")["texts"]
    if not isinstance(translations, list) or len(translations) != len(texts):
        raise RejectedError("reply is not a list of texts")
    return [
        plain_text(translation, 100 + 4 * len(text), "translation")
        for translation, text in zip(translations, texts, strict=True)
    ]


def _is_words(text: str) -> bool:
    """Return whether a text is translated; numbers and dates are not."""
    if not any(map(str.isalpha, text)) or parse_number(text) is not None:
        return False
    return read_moment(text) is None


def _chunks(texts: Sequence[str]) -> Iterator[list[str]]:
    chunk: list[str] = []
    for text in texts:
        if chunk and sum(map(len, chunk)) + len(text) > _CHUNK:
            yield chunk
            chunk = []
        chunk.append(text)
    if chunk:
        yield chunk


def _numbers(text: str) -> list[str]:
    return sorted(number.replace(",", "") for number in DIGITS.findall(text))


def _require_unsaid(question: _AnsweredQuestion, translated: str, answers: Sequence[str]) -> None:
    """Raise `RejectedError` if a translation contains the answer and the question does not."""
    before, after = plain_question(question.text), plain_question(translated)
    is_said = any(says(before, answer) for answer in question.answers)
    if not is_said and any(says(after, answer) for answer in answers):
        raise RejectedError("answer in question")
