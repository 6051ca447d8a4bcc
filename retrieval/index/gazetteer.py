"""Names: how they are normalised, how many of them are found in a text at once, and the query side.

`normalise` folds what does not tell two names apart (case, diacritics, possessive, punctuation,
``&`` for *and*, a leading article). `NameMatcher` finds the longest names at token boundaries.
`Gazetteer` holds the entities of a snapshot and finds them in a question.
"""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import polars as pl

# A possessive "s" is no token; an ampersand is the word "and".
_TOKEN = re.compile(r"&|(?<!['’])[^\W_]+|(?<=['’])(?![sS]\b)[^\W_]+")
_ARTICLES = frozenset(("the", "a", "an"))
MAX_TOKENS = 12
# What a question may name an entity by, from sure to weak.
_NAME, _ALIAS, _SHORT_PERSON, _SURNAME, _PLAIN_WORD = 1.0, 0.9, 0.8, 0.5, 0.5
_MAX_HOMONYMS = 8


def fold(text: str) -> str:
    """Return ``text`` without case and diacritics; its length may differ from the text's."""
    if text.isascii():
        return text.lower()
    decomposed = unicodedata.normalize("NFKD", text.casefold())
    return "".join(c for c in decomposed if not unicodedata.combining(c))


def name_tokens(text: str) -> list[tuple[str, int, int]]:
    """Return the tokens of ``text`` as (folded token, start, end); offsets in characters."""
    plain = text.isascii()
    lower = text.lower() if plain else text
    found = []
    for match in _TOKEN.finditer(lower):
        word = match.group()
        folded = "and" if word == "&" else word if plain else fold(word)
        found.append((folded, match.start(), match.end()))
    return found


def normalise(name: str) -> str:
    """Return the normal form of ``name``: equal forms are one name (empty when nothing is left)."""
    words = ["and" if t == "&" else t for t in _TOKEN.findall(fold(name))]
    if len(words) > 1 and words[0] in _ARTICLES:
        del words[0]
    return " ".join(words)


class NameMatcher:
    """Finds many names in a text: longest match from left to right, at token boundaries.

    Names are given in normal form; each carries an integer (its position in the input).
    """

    def __init__(self, names: Iterable[str]) -> None:
        table: dict[str, list[tuple[tuple[str, ...], int]]] = {}
        for index, name in enumerate(names):
            words = tuple(name.split(" "))
            if words[0] and len(words) <= MAX_TOKENS:
                table.setdefault(words[0], []).append((words, index))
        for entries in table.values():
            entries.sort(key=lambda entry: (-len(entry[0]), entry[1]))
        self._table = table

    def find(self, text: str) -> Iterator[tuple[int, int, int]]:
        """Yield (name index, start, end) of every match, in text order, without overlap."""
        tokens = name_tokens(text)
        words = [token[0] for token in tokens]
        table, position, count = self._table, 0, len(words)
        while position < count:
            step = 1
            for name, index in table.get(words[position], ()):
                size = len(name)
                if size == 1 or tuple(words[position : position + size]) == name:
                    yield index, tokens[position][1], tokens[position + size - 1][2]
                    step = size
                    break
            position += step


@dataclass(frozen=True, slots=True)
class EntityHit:
    """One entity named in a question: id, preferred name, span in characters, score 0 to 1."""

    entity_id: str
    name: str
    start: int
    end: int
    score: float


class Gazetteer:
    """The names of a snapshot's entities, to be found in questions.

    Build it from the ``entities`` table (`from_table`) or from columns. About 6 µs per surface.
    """

    def __init__(
        self,
        ids: Sequence[str],
        names: Sequence[str],
        aliases: Sequence[Sequence[str]],
        persons: Sequence[bool],
    ) -> None:
        surfaces: dict[str, dict[int, float]] = {}
        for row, (name, others, person) in enumerate(zip(names, aliases, persons, strict=True)):
            self._add(surfaces, normalise(name), row, _NAME)
            for other in others:
                self._add(surfaces, normalise(other), row, _ALIAS)
            if person:
                for short, score in _short_forms(normalise(name)):
                    self._add(surfaces, short, row, score)
        self._ids, self._names = ids, names
        self._holders = list(surfaces.values())
        self._matcher = NameMatcher(surfaces)

    @classmethod
    def from_table(cls, entities: pl.DataFrame) -> Gazetteer:
        """Build from an ``entities`` table."""
        return cls(
            entities["entity_id"].to_list(),
            entities["name"].to_list(),
            entities["aliases"].to_list(),
            ["PERSON" in types for types in entities["types"].to_list()],
        )

    @staticmethod
    def _add(surfaces: dict[str, dict[int, float]], form: str, row: int, score: float) -> None:
        if len(form) > 1:
            holders = surfaces.setdefault(form, {})
            holders[row] = max(score, holders.get(row, 0.0))

    def find(self, question: str) -> list[EntityHit]:
        """Return the entities named in ``question``, best first.

        The longest name wins at each place. A name that several entities share gives each of them
        (at most 8), its score divided by the square root of their number; one ordinary word in
        lower case, as in "history", counts half.
        """
        hits = []
        for index, start, end in self._matcher.find(question):
            surface = question[start:end]
            plain = surface.islower() and " " not in surface and surface.isalpha()
            holders = sorted(
                self._holders[index].items(), key=lambda item: (-item[1], self._ids[item[0]])
            )
            best = holders[0][1]
            chosen = [row for row, score in holders if score == best][:_MAX_HOMONYMS]
            score = best * (_PLAIN_WORD if plain else 1.0) / len(chosen) ** 0.5
            hits += [EntityHit(self._ids[r], self._names[r], start, end, score) for r in chosen]
        return sorted(hits, key=lambda hit: (-hit.score, hit.start, hit.entity_id))


def _short_forms(person: str) -> list[tuple[str, float]]:
    words = person.split(" ")
    if len(words) < 2:
        return []
    # A short surname ("An", "Li") is in most questions another word.
    forms = [(words[-1], _SURNAME)] if len(words[-1]) > 3 else []
    if len(words) > 2:
        forms.append((f"{words[0]} {words[-1]}", _SHORT_PERSON))
    return forms
