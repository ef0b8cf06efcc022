"""RealHiTBench's prompts by kind of question, in our own words (spec section 2)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from types import MappingProxyType

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets.realhitbench._rows import CHARTS

MARKER = "[Final Answer]:"
CANNED = "I see what is asked for. Please give me the table, in csv format, and the question."
"""The model's turn that `reference` mode puts into every prompt, whatever the format."""

_LIST = f"{MARKER} AnswerName1, AnswerName2, ..."
_SHORT = (
    "The answer is one line of names or numbers, separated by a comma and a blank, in the "
    "shortest form possible"
)
_DECIMALS = "Give numbers that you worked out with two decimals"


_ORIGINAL = "Give values of the table in the original format of the table."
_TREND = "A trend is No clear trend, Increasing trend or Decreasing trend."
_CONCLUSION = "The answer is your conclusion: which values are out of line, and why, or none."
_TREE_RULES: Mapping[str, str] = MappingProxyType(
    {
        _TREND: "A trend is No clear trend, Increasing trend, Decreasing trend or Stabilize.",
        _CONCLUSION: "The answer is `No anomaly detected.`, or how many anomalies there are and "
        "which: `2 anomalies detected: ...`.",
    }
)
"""Rules, and the rules that replace them in TreeThinker's last question."""

_CHART_RULES = (
    "The table lies in the file table.xlsx beside the program.",
    "Values on the x axis go up from left to right.",
    "Its last line is exactly `plt.show()`, and nothing stands behind it.",
)


@dataclass(frozen=True)
class Form:
    """The form of the answer to a kind of question, as the prompt describes it.

    Arguments:
        task: the task, which completes "you have to".
        rules: the rules for the answer.
        line: the required end of a reply.
    """

    task: str
    rules: tuple[str, ...]
    line: str = _LIST


FORMS: Mapping[str, Form] = MappingProxyType(
    {
        "Fact Checking": Form(
            "find facts in it, or judge whether a statement about it holds",
            (f"{_SHORT}.", "Where you are to judge, the answer is Yes or No."),
        ),
        "Structure Comprehending": Form(
            "find facts in it wherever they stand, since its parts may be in any order",
            (f"{_SHORT}.", "Where you are to judge, the answer is Yes or No."),
        ),
        "Numerical Reasoning": Form("calculate, compare, count or rank", (f"{_SHORT}.", _DECIMALS)),
        "Rudimentary Analysis": Form(
            "carry out a simple analysis", (f"{_SHORT}, without explanation.", _DECIMALS)
        ),
        "Predictive Analysis": Form(
            "predict what comes next",
            (
                f"{_SHORT}: a number, a name, or a trend.",
                _TREND,
                _DECIMALS,
            ),
        ),
        "Exploratory Analysis": Form(
            "find how values hang together",
            (
                "For a correlation give its kind and its coefficient r with two decimals.",
                "The kind is No correlation for |r| up to 0.3, Weak positive correlation or Weak "
                "negative correlation from there to 0.7, and Strong positive correlation or "
                "Strong negative correlation beyond.",
                "For an influence name what has it, or give No impact, Negative impact or "
                "Positive impact.",
                "For a cause give a short explanation.",
            ),
            f"{MARKER} CorrelationRelation, CorrelationCoefficient",
        ),
        "Summary Analysis": Form(
            "sum up what it says",
            ("The answer is concise: what the table holds, its main columns, what they show.",),
            f"{MARKER} the summary",
        ),
        "Anomaly Analysis": Form(
            "find values that stand out",
            (_CONCLUSION,),
            f"{MARKER} the conclusion",
        ),
        CHARTS: Form(
            "draw a chart with Python",
            (
                _CHART_RULES[0],
                "The program begins with `import pandas as pd` and "
                "`import matplotlib.pyplot as plt`, and runs as it is.",
                *_CHART_RULES[1:],
            ),
            f"{MARKER} import pandas as pd\nimport matplotlib.pyplot as plt\n...\nplt.show()",
        ),
    }
)


def form_of(kind: str, subtype: str) -> Form:
    """Return the form for a question's kind, or for its sub-type if the kind has none.

    An unknown sub-type has the form of fact checking.
    """
    return FORMS[form_name(kind, subtype)]


def form_name(kind: str, subtype: str) -> str:
    """Return the name of a question's form, a key of `FORMS`."""
    return next((name for name in (kind, subtype) if name in FORMS), "Fact Checking")


def tree_form(form: Form, compat: Compat) -> Form:
    """Return the form that TreeThinker asks for in its last question (spec section 6).

    The published prompts omit the rule of two decimals there. For charts they also omit the rules
    about the file, the order and the last line. `fixed` keeps all of them, because metrics round to
    two decimals and programs need the file.
    """
    dropped = {_DECIMALS, *_CHART_RULES} if compat == "reference" else set()
    rules = [rule for rule in form.rules if rule not in dropped]
    return replace(form, rules=(*(_TREE_RULES.get(rule, rule) for rule in rules), _ORIGINAL))


def instruction(form: Form, *, marked: bool = True) -> str:
    """Return the part of a prompt before the table.

    Without `marked`, it does not say where in the reply the answer goes.
    """
    rules = "\n".join(f"- {rule}" for rule in form.rules)
    if marked:
        rules += f"\n- The end of your reply is: {form.line}"
    return (
        "You are an expert in the analysis of tables. You are shown a table and have to "
        f"{form.task}.\n\n"
        "Work in four steps:\n"
        "1. Understand the question: what it asks for, and of what.\n"
        "2. Understand the table: its title, the levels of its column headers and row headers, "
        "merged cells and sections. Beware of cells that sum up others, such as totals and means: "
        "they are no values beside those.\n"
        "3. Pick the headers that the question is about, and the cells under them.\n"
        "4. Work out the answer from these cells, and give it in the form below.\n\n"
        f"Form of the answer:\n{rules}\n\n"
        "The table and the question follow. Reason first, then give the answer in that form."
    )


def reminder(form: Form, compat: Compat) -> str:
    """Return the part of a prompt after the question.

    If the published code has no line for the form, `reference` asks for a list. For summaries and
    anomalies this contradicts the instruction.
    """
    has_line = compat == "fixed" or form.line.startswith((f"{MARKER} Corr", f"{MARKER} import"))
    return f"End your reply with: {form.line if has_line else _LIST}"
