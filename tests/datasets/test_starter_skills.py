"""The embedded datasets of the table skills: their content and its generation."""

from __future__ import annotations

from collections import Counter
from pathlib import Path

import pytest

from pytest_tablebench.datasets import built_in_benchmarks
from pytest_tablebench.datasets.folder import FolderDataset, check_dataset, folder_datasets
from pytest_tablebench.datasets.starter.starter import DATASETS as EMBEDDED
from pytest_tablebench.datasets.starter.starter import EmbeddedFolder
from pytest_tablebench.generate.rules import SKILLS
from tests.support.starter_skills import FOLDERS, PACKAGE, build

DATASETS = [dataset for dataset in EMBEDDED if isinstance(dataset, EmbeddedFolder)]


@pytest.mark.parametrize("dataset", DATASETS, ids=lambda dataset: dataset.name)
def test_the_datasets_cover_every_skill_subtask_and_level(dataset: EmbeddedFolder) -> None:
    source = dataset.open(Path("no", "such", "folder"))
    assert not source.problems
    examples = [source.example(id_) for id_ in source.example_ids(None)]
    assert len(examples) == 120
    tags = [example.tags for example in examples]
    assert {tag["skill"] for tag in tags} == {"TU", "TBO", "TCO", "DA", "ADA"}
    subtasks = Counter(tag["subtask"] for tag in tags)
    assert set(subtasks) == set(SKILLS)
    assert min(subtasks.values()) >= 3
    assert {tag["difficulty"] for tag in tags} == {"easy", "medium", "hard"}
    language = "zh" if dataset.name.endswith("zh") else "en"
    assert {tag["language"] for tag in tags} == {language}
    verdicts = Counter(e.references[0] for e in examples if e.context["kind"] == "yes_no")
    assert len(verdicts) == 2
    assert max(verdicts.values()) < 0.7 * verdicts.total()
    if language == "zh":
        assert all(any("一" <= letter <= "龥" for letter in e.question or "") for e in examples)


def test_check_accepts_the_datasets() -> None:
    found = {dataset.folder: dataset for dataset in folder_datasets(PACKAGE)}
    for name in FOLDERS.values():
        dataset = found[name]
        assert isinstance(dataset, FolderDataset)
        checked = check_dataset(dataset, PACKAGE / name)
        assert (checked.problems, checked.notes) == ((), ())


def test_the_files_equal_the_output_of_the_generator(tmp_path: Path) -> None:
    build(tmp_path)
    made = {path.relative_to(tmp_path): path for path in tmp_path.rglob("*") if path.is_file()}
    files = [path for name in FOLDERS.values() for path in (PACKAGE / name).rglob("*")]
    assert {path.relative_to(PACKAGE) for path in files if path.is_file()} == made.keys()
    for name, path in made.items():
        assert path.read_bytes() == (PACKAGE / name).read_bytes(), name


def test_the_files_are_small() -> None:
    files = [path for path in PACKAGE.rglob("*") if path.suffix in {".jsonl", ".csv", ".toml"}]
    assert sum(path.stat().st_size for path in files) < 2_000_000


def test_the_datasets_are_not_part_of_the_benchmark_starter() -> None:
    assert "starter" in {benchmark.name for benchmark in built_in_benchmarks()}
    for dataset in DATASETS:
        assert dataset.benchmark == dataset.name
        assert not dataset.is_own  # else the suite of user folders would run them too
