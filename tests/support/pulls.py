"""Small upstream datasets, and a data folder that pulls them from a scripted server."""

from __future__ import annotations

import hashlib
import json
import os
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest

from pytest_tablebench.datasets import built_in_datasets
from pytest_tablebench.datasets.pull import Upstream, known_sources, pull
from pytest_tablebench.datasets.pull._upstream import SERVERS
from pytest_tablebench.errors import DataError
from tests.support.upstream_server import Fault, UpstreamServer, tarball

UPSTREAM = known_sources(built_in_datasets())
"""The sources of the built-in datasets, by name."""

LOCK = ".tablebench-pull.json"
DIGIT = {"train": b"1", "dev": b"2", "test": b"3"}
FINQA = {f"dataset/{split}.json": b"[" + DIGIT[split] * 5000 + b"]" for split in DIGIT}
QTSUMM = {f"qtsumm_{split}.json": b"[" + DIGIT[split] * 5000 + b"]" for split in DIGIT}
WIKITQ = {
    "data/pristine-unseen-tables.tsv": b"test\n",
    "data/random-split-1-train.tsv": b"train\n",
    "data/random-split-1-dev.tsv": b"dev\n",
    "csv/200-csv/1.tsv": b"one\n",
    "csv/201-csv/2.tsv": b"two\n",
}
TEST = "dataset/test.json"
GATED = Fault(status=401, headers={"X-Error-Code": "GatedRepo"})


def sha256(content: bytes) -> str:
    return hashlib.sha256(content).hexdigest()


@dataclass
class Place:
    """A server, a data folder, and the messages and waits of pulls."""

    server: UpstreamServer
    data: Path
    said: list[str] = field(default_factory=list)
    asked_when_said: list[int] = field(default_factory=list)
    waits: list[float] = field(default_factory=list)
    upstreams: Mapping[str, Upstream] = field(default_factory=lambda: UPSTREAM)

    def __post_init__(self) -> None:
        self.finqa(FINQA)
        self.server.hub("yale-nlp/QTSumm", QTSUMM)
        self.wikitq(WIKITQ)

    def finqa(self, files: Mapping[str, bytes]) -> None:
        self.server.github("czyssrs/FinQA", UPSTREAM["finqa"].revision, files)

    def wikitq(self, files: Mapping[str, bytes], **tar: Any) -> None:
        content = tarball({**files, "README.md": b"not wanted", "csv/1/1.csv": b"nor this"}, **tar)
        self.server.archive("ppasupat/WikiTableQuestions", "master", content)

    def say(self, line: str) -> None:
        self.said.append(line)
        self.asked_when_said.append(len(self.server.asked))

    def pull(self, *names: str, **options: Any) -> None:
        defaults: dict[str, Any] = {"say": self.say, "sleep": self.waits.append, "bar": False}
        with pytest.MonkeyPatch.context() as patch:
            for _, variable in SERVERS.values():
                if variable not in os.environ:
                    patch.setenv(variable, self.server.url)
            pull(names, self.data, **{**defaults, **options}, upstreams=self.upstreams)

    def refused(self, *names: str, **options: Any) -> str:
        """Return the one line of a failing pull."""
        with pytest.raises(DataError) as caught:
            self.pull(*names, **options)
        assert "\n" not in str(caught.value)
        return str(caught.value)

    def lock(self, name: str) -> dict[str, Any]:
        content: dict[str, Any] = json.loads((self.data / name / LOCK).read_bytes())
        return content

    def files(self, name: str) -> dict[str, bytes]:
        """Return the dataset's files, without our own ones."""
        folder = self.data / name
        return {
            path.relative_to(folder).as_posix(): path.read_bytes()
            for path in sorted(folder.rglob("*"))
            if path.is_file() and not path.name.startswith((".tablebench", "LICENCE"))
        }
