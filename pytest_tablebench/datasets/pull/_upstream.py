"""Where each dataset lives upstream: address, revision, files, licence."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from fnmatch import fnmatchcase
from types import MappingProxyType
from typing import Literal

__all__ = ["UPSTREAM", "File", "Licence", "Upstream", "is_pattern", "matches"]

Host = Literal["github", "github_archive", "hub"]


@dataclass(frozen=True)
class Licence:
    """A licence as the upstream project states it, and where its text is."""

    name: str
    address: str


MIT = Licence("MIT", "https://opensource.org/license/mit")
APACHE = Licence("Apache-2.0", "https://www.apache.org/licenses/LICENSE-2.0")
CC_BY_SA = Licence("CC BY-SA 4.0", "https://creativecommons.org/licenses/by-sa/4.0/")
CC_BY_NC_SA = Licence(
    "CC BY-NC-SA 4.0 (no commercial use)", "https://creativecommons.org/licenses/by-nc-sa/4.0/"
)


@dataclass(frozen=True)
class File:
    """A file, or a pattern that stands for several.

    Arguments:
        path: where it lies upstream; `*` stands for any part of one path component.
        local: where it goes inside the dataset's folder; empty for the same path.
        sha256: hexadecimal digest where it is known from a source other than the download.
        optional: whether the dataset can do without the file, should upstream not have it.
    """

    path: str
    local: str = ""
    sha256: str | None = None
    optional: bool = False

    @property
    def target(self) -> str:
        """The path inside the dataset's folder."""
        return self.local or self.path


@dataclass(frozen=True)
class Upstream:
    """One source of files.

    Arguments:
        name: what people type, and the folder's name inside the data folder.
        host: `github` and `hub` (Hugging Face) give single files, `github_archive` a tarball
            of the whole repository of which `files` are kept.
        repository: `owner/name`.
        revision: a commit where `pinned`, else a branch (`HEAD` is GitHub's name for the
            default branch).
        files: what is fetched; patterns are for archives and the hub.
        serves: the datasets that read these files; empty for the one of the same name.
        by_hand: how people get the files themselves where the source may not give them; files
            they put in place are then taken as they are.
    """

    name: str
    host: Host
    repository: str
    revision: str
    pinned: bool
    licence: Licence
    files: tuple[File, ...]
    serves: tuple[str, ...] = ()
    by_hand: str = ""

    @property
    def home(self) -> str:
        """The page of the source."""
        if self.host == "hub":
            return f"https://huggingface.co/datasets/{self.repository}"
        return f"https://github.com/{self.repository}"


def is_pattern(path: str) -> bool:
    """Tell whether a path of the table stands for several files."""
    return "*" in path


def matches(path: str, pattern: str) -> bool:
    """Tell whether a path fits a pattern, component by component."""
    parts, patterns = path.split("/"), pattern.split("/")
    return len(parts) == len(patterns) and all(map(fnmatchcase, parts, patterns))


def _files(*paths: str) -> tuple[File, ...]:
    return tuple(File(path) for path in paths)


# The two full commits are the ones that torr.md sections 3.1 and 3.8 name by their first digits.
_FINQA_COMMIT = "0f16e2867befa6840783e58be38c9efb9229d742"
_TABLEBENCH_COMMIT = "90593ad8af90f027f6f478b8c4c1981d9f073a83"

_ALL = (
    Upstream(
        "finqa",
        "github",
        "czyssrs/FinQA",
        _FINQA_COMMIT,
        pinned=True,
        licence=MIT,
        files=_files("dataset/train.json", "dataset/dev.json", "dataset/test.json"),
        serves=("finqa", "finqa_text"),
    ),
    Upstream(
        "wikitq",
        "github_archive",
        "ppasupat/WikiTableQuestions",
        "master",
        pinned=False,
        licence=CC_BY_SA,
        files=_files(
            "data/pristine-unseen-tables.tsv",
            "data/random-split-1-train.tsv",
            "data/random-split-1-dev.tsv",
            "csv/*/*.tsv",
        ),
    ),
    Upstream(
        "tabfact",
        "github_archive",
        "wenhuchen/Table-Fact-Checking",
        "master",
        pinned=False,
        licence=MIT,
        files=_files(
            "tokenized_data/train_examples.json",
            "tokenized_data/val_examples.json",
            "tokenized_data/test_examples.json",
            "data/all_csv/*.csv",
        ),
    ),
    Upstream(
        "turl_cta",
        "hub",
        "stanford-crfm/helm-scenarios",
        "main",
        pinned=False,
        licence=APACHE,
        files=tuple(
            File(f"turl-column-type-annotation/{name}", name)
            for name in (
                "train.table_col_type.json",
                "dev.table_col_type.json",
                "test.table_col_type.json",
                "type_vocab.txt",
            )
        ),
        by_hand=(
            "the files, type_vocab.txt among them, also belong to the data that "
            "https://github.com/sunlab-osu/TURL links to; put them into {folder} and run this "
            "command again"
        ),
    ),
    Upstream(
        "numericnlg",
        "github",
        "titech-nlp/numeric-nlg",
        "HEAD",
        pinned=False,
        licence=CC_BY_SA,
        files=tuple(
            File(f"data/{kind}_{split}.json")
            for kind in ("table", "table_desc", "paper")
            for split in ("train", "val", "test")
        ),
    ),
    Upstream(
        "scigen",
        "github",
        "UKPLab/SciGen",
        "main",
        pinned=False,
        licence=CC_BY_NC_SA,
        files=(
            File("dataset/train/medium/train.json", optional=True),
            *_files(
                "dataset/train/few-shot/train.json",
                "dataset/development/few-shot/dev.json",
                "dataset/test/test-CL.json",
                "dataset/test/test-Other.json",
            ),
        ),
    ),
    Upstream(
        "qtsumm",
        "hub",
        "yale-nlp/QTSumm",
        "main",
        pinned=False,
        licence=MIT,
        files=_files("qtsumm_train.json", "qtsumm_dev.json", "qtsumm_test.json"),
        by_hand=(
            "its authors give access on request: log in at "
            "https://huggingface.co/datasets/yale-nlp/QTSumm and accept the conditions, then run "
            "`hf auth login` (or set HF_TOKEN) and this command again; or download "
            "qtsumm_train.json, qtsumm_dev.json and qtsumm_test.json there in the browser and "
            "put them into {folder}"
        ),
    ),
    Upstream(
        "tablebench",
        "hub",
        "Multilingual-Multimodal-NLP/TableBench",
        _TABLEBENCH_COMMIT,
        pinned=True,
        licence=APACHE,
        files=_files("*.jsonl"),
        serves=("tablebench_da", "tablebench_fc", "tablebench_nr"),
    ),
)

UPSTREAM: Mapping[str, Upstream] = MappingProxyType({source.name: source for source in _ALL})
"""Every source that `tablebench pull` knows, by name.

The SHA-256 of no file is known from elsewhere so far: `File.sha256` is None throughout, and the
digest of the first download is what later ones are held to.
"""
