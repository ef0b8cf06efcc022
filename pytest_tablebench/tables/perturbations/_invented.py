"""Invents texts: names and numbers that look like others."""

from __future__ import annotations

from collections.abc import Container
from random import Random

_CONSONANTS, _VOWELS = "bdfgklmnprstvz", "aeiou"
_CHINESE = "岚沐霁玥珩澜苒珂翊璟菡旻泓昀栩珺"
_TRIES = 100


def invented(like: str, draw: Random, taken: Container[str] = ()) -> str:
    """Return a text that looks like another one: capitals, blanks, length, first digits.

    It differs from the taken texts, unless a hundred tries find no other.
    """
    text = like
    for _ in range(_TRIES):
        text = _once(like, draw)
        if text != like and text not in taken:
            break
    return text


def _once(like: str, draw: Random) -> str:
    letters, place = [], 0
    for position, character in enumerate(like):
        if character.isdecimal():
            first = not (position and like[position - 1].isdecimal())
            alone = not like[position + 1 : position + 2].isdecimal()
            if first and not alone:
                letters.append(character)  # so that a year stays a year
            else:
                letters.append(draw.choice("123456789" if first else "0123456789"))
            place = 0
        elif "\u4e00" <= character <= "\u9fff":
            letters.append(draw.choice(_CHINESE))
        elif character.isalpha():
            letter = draw.choice(_VOWELS if place % 2 else _CONSONANTS)
            letters.append(letter.upper() if character.isupper() else letter)
            place += 1
        else:
            letters.append(character)
            place = 0
    return "".join(letters)
