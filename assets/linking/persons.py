"""Which spellings of a person's name are one person: honorifics, initials, middle names, surnames.

A merge needs evidence and is never a chain: each spelling goes in one step to the fullest spelling
that it fits, and only if it fits exactly one. "J. Smith" among a Jane and a John Smith stays alone.
"""

from __future__ import annotations

from collections import defaultdict
from dataclasses import dataclass, field

from assets.extraction.personnames import PersonName


@dataclass
class PersonMerges:
    """``canonical`` maps a form to the form of its person; ``evidence`` says why it moved."""

    canonical: dict[str, str] = field(default_factory=dict)
    evidence: dict[str, str] = field(default_factory=dict)


def merge_persons(names: set[PersonName]) -> PersonMerges:
    """Return which forms are one person.

    Forms with a written-out given name merge when given name and surname agree and their middle
    names do not contradict one another. A form of initials merges into the only person it fits.
    """
    merges = PersonMerges()
    by_surname: dict[str, set[tuple[str, ...]]] = defaultdict(set)
    for name in names:
        if name.given:
            by_surname[name.surname].add(name.given)
    for surname in sorted(by_surname):
        _merge_namesakes(surname, sorted(by_surname[surname]), merges)
    return merges


def _merge_namesakes(surname: str, givens: list[tuple[str, ...]], merges: PersonMerges) -> None:
    groups: dict[str, list[tuple[str, ...]]] = defaultdict(list)
    short = []
    for given in givens:
        if len(given[0]) > 1:
            groups[given[0]].append(given)
        else:
            short.append(given)
    persons: list[tuple[str, ...]] = []
    for first in sorted(groups):
        variants = groups[first]
        fullest = max(variants, key=lambda g: (len(g), sum(map(len, g)), g))
        if all(_fits(variant, fullest) for variant in variants):
            persons.append(fullest)
            for variant in variants:
                _record(merges, variant, fullest, surname, "middle name")
        else:
            persons += variants
            for variant in variants:
                _record(merges, variant, variant, surname, "")
    for given in short:
        fitting = [person for person in persons if _fits(given, person)]
        target = fitting[0] if len(fitting) == 1 else given
        _record(merges, given, target, surname, "initials")


def _record(
    merges: PersonMerges, given: tuple[str, ...], target: tuple[str, ...], surname: str, why: str
) -> None:
    form = " ".join((*given, surname))
    merges.canonical[form] = " ".join((*target, surname))
    if given != target:
        merges.evidence[form] = why


def _fits(short: tuple[str, ...], full: tuple[str, ...]) -> bool:
    """Say whether ``short`` can be a spelling of ``full``: each part equal, or its initial."""
    if len(short) > len(full):
        return False
    return all(
        a == b or (len(a) == 1 and b[0] == a) or (len(b) == 1 and a[0] == b)
        for a, b in zip(short, full, strict=False)
    )
