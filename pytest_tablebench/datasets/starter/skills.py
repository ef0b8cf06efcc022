"""The datasets `starter_skills` and `starter_zh`: every table skill, in English and in Chinese.

`_build_skills` writes their folders. Each dataset is its own benchmark, so that the figures of
`starter` do not change.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

from pytest_tablebench.config.compat import Compat
from pytest_tablebench.datasets._source import RowSource
from pytest_tablebench.datasets.described._description import DatasetDescription, DefaultsSection
from pytest_tablebench.datasets.folder import FolderDataset
from pytest_tablebench.datasets.folder.questions import FolderQuestion

_CHINESE = (
    "请只根据表格回答问题，不要使用其他知识。只给出答案，不要解释，也不要写成句子。"
    "答案有多项时，用英文逗号加空格分隔。名称、日期和数字的写法与表格一致。"
)


class EmbeddedFolder(FolderDataset):
    """A dataset folder in the package.

    Arguments:
        name: the name of the dataset and of its benchmark.
        folder: the name of the folder, next to this file.
        instruction: the instruction of its prompts; None for the default.
    """

    question_file = "questions.jsonl"

    def __init__(self, name: str, folder: str, instruction: str | None = None) -> None:
        description = DatasetDescription(
            benchmark=name, licence="MIT", defaults=DefaultsSection(instruction=instruction)
        )
        super().__init__(description, name, folder)

    def open(
        self,
        folder: Path,  # noqa: ARG002 - the files come with the package
        *,
        compat: Compat = "fixed",
        **options: Any,
    ) -> RowSource[FolderQuestion]:
        """Open the package's own files."""
        return super().open(Path(__file__).parent / self.folder, compat=compat, **options)


DATASETS = (
    EmbeddedFolder("starter_skills", "skills"),
    EmbeddedFolder("starter_zh", "skills_zh", _CHINESE),
)
