"""The public surface for other packages: datasets, models, strategies, judges, metrics, tables.

Every name is documented. A release that warns precedes every renaming or removal.
"""

from __future__ import annotations

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.config.settings import Settings
from pytest_tablebench.datasets import (
    AnswerForm,
    AnswerPlace,
    Benchmark,
    Dataset,
    Example,
    ExamplePool,
    FileDataset,
    Opened,
    Pool,
    PoolFiles,
    Problem,
    PromptParts,
    Render,
    ReplyForm,
    RowSource,
    Source,
    SourceFacts,
    Stratum,
    TableQuestions,
    table_question,
)
from pytest_tablebench.datasets.files import BadRowError, text_field
from pytest_tablebench.datasets.pull import File, Licence, Upstream
from pytest_tablebench.errors import DataError, DataMissing, ModelError, NotJudgedError
from pytest_tablebench.metrics import METRICS, Judgement, Score, may_be_unclear
from pytest_tablebench.metrics.judge_reply import read_score
from pytest_tablebench.metrics.steps import Ask, Execute, Execution
from pytest_tablebench.models import Message, Provider, Reply, Request
from pytest_tablebench.models.lexical.model import LexicalModel
from pytest_tablebench.serializers.content import Content, Image
from pytest_tablebench.strategies import (
    TOOLS,
    Conversation,
    Strategy,
    Task,
    Tool,
    Tools,
    ToolTables,
)
from pytest_tablebench.tables.content import Span
from pytest_tablebench.tables.table import Table

__all__ = [
    "METRICS",
    "TOOLS",
    "AnswerForm",
    "AnswerPlace",
    "Ask",
    "BadRowError",
    "Benchmark",
    "Compat",
    "Content",
    "Conversation",
    "DataError",
    "DataMissing",
    "Dataset",
    "Example",
    "ExamplePool",
    "Execute",
    "Execution",
    "File",
    "FileDataset",
    "Image",
    "Judgement",
    "LexicalModel",
    "Licence",
    "Message",
    "ModelError",
    "NotJudgedError",
    "Opened",
    "Pool",
    "PoolFiles",
    "Problem",
    "PromptParts",
    "Provider",
    "Render",
    "Reply",
    "ReplyForm",
    "Request",
    "RowSource",
    "Score",
    "Settings",
    "Source",
    "SourceFacts",
    "Span",
    "Strategy",
    "Stratum",
    "Table",
    "TableQuestions",
    "Task",
    "Tool",
    "ToolTables",
    "Tools",
    "Upstream",
    "may_be_unclear",
    "read_score",
    "table_question",
    "text_field",
]
