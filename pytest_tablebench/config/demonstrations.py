"""The number of demonstrations in a prompt, by dataset."""

from __future__ import annotations

from dataclasses import dataclass

from pytest_tablebench.config.reading import RawOption
from pytest_tablebench.errors import SettingsError
from pytest_tablebench.util.names import split_names


@dataclass(frozen=True)
class Shots:
    """Numbers of demonstrations in a prompt.

    Arguments:
        by_dataset: pairs of a dataset's name and its number.
        rest: the number of all other datasets; None for each dataset's own.
    """

    by_dataset: tuple[tuple[str, int], ...] = ()
    rest: int | None = None

    def of(self, dataset: str) -> int | None:
        """Return the number for a dataset, or None for the dataset's own."""
        return dict(self.by_dataset).get(dataset, self.rest)

    def __str__(self) -> str:
        """Return the numbers as the option's text: `wikitq=1,5`."""
        named = [f"{name}={number}" for name, number in self.by_dataset]
        return ",".join([*named, *([] if self.rest is None else [str(self.rest)])])


def shots(raw: RawOption) -> Shots | int:
    """Parse `5`, `wikitq=1` or `wikitq=1,5`; a number for all datasets is returned as an int."""
    by_dataset: dict[str, int] = {}
    rest: list[int] = []
    for item in split_names(str(raw.value)):
        name, equals, text = map(str.strip, item.rpartition("="))
        if not text.isascii() or not text.isdigit() or bool(equals) != bool(name):
            raise _refused(raw)
        if not equals:
            rest.append(int(text))
        elif name in by_dataset:
            raise SettingsError(f"{raw.flag} names {name} twice: give it once")
        else:
            by_dataset[name] = int(text)
    if len(rest) > 1 or not (by_dataset or rest):
        raise _refused(raw)
    if not by_dataset:
        return rest[0]
    return Shots(tuple(by_dataset.items()), rest[0] if rest else None)


def _refused(raw: RawOption) -> SettingsError:
    return SettingsError(
        f"{raw.flag} takes a whole number from 0, or numbers by dataset and one for the rest "
        f"(wikitq=1,5), not {str(raw.value)!r}"
    )
