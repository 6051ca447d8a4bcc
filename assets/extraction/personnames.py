"""A person's name as it is written: honorifics, degrees, order, parts."""

from __future__ import annotations

import re
from dataclasses import dataclass

from retrieval.index.gazetteer import normalise

_HONORIFICS = re.compile(
    r"^(?:(?:Dr|Prof|Mr|Mrs|Ms|Miss|Sir|Dame|Professor|Dean|Rector|Provost|Chancellor|President)"
    r"\.?[\s\u00a0]+)+"
)
_SUFFIXES = re.compile(r",?[\s\u00a0]+(?:Ph\.?D\.?|M\.?D\.?|Jr\.?|Sr\.?|Esq\.?|M\.?A\.?|III?)$")
_MAX_PARTS = 5


@dataclass(frozen=True)
class PersonName:
    """A parsed spelling: normal form without titles, its given parts, surname, and if titled."""

    form: str
    given: tuple[str, ...]
    surname: str
    titled: bool

    @property
    def full(self) -> bool:
        """Whether a given name is written out."""
        return bool(self.given) and len(self.given[0]) > 1


def bare_name(surface: str) -> str:
    """Return ``surface`` without honorifics and degrees."""
    return _SUFFIXES.sub("", _HONORIFICS.sub("", " ".join(surface.split()))).strip()


def parse_person(surface: str) -> PersonName | None:
    """Parse ``surface``; None when it has the form of no person's name."""
    text = surface.replace("\u00a0", " ").strip()
    bare = _HONORIFICS.sub("", text)
    titled = bare != text
    bare = bare_name(text)
    last, comma, first = bare.partition(", ")
    if comma and " " not in last:
        bare = f"{first} {last}"
    parts = normalise(bare).split(" ")
    if (
        ":" in text
        or not parts[0]
        or len(parts) > _MAX_PARTS
        or not all(p.isalpha() for p in parts)
    ):
        return None
    if len(parts[-1]) < 2:
        return None
    return PersonName(" ".join(parts), tuple(parts[:-1]), parts[-1], titled)
