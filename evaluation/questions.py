"""Question files: one typed model for every form a question row comes in.

A file is JSONL, one question a line. Three forms are read:

- *versioned, plain*: ``by_version: {label: {answers: [text, ...], evidence: [...]} | null}``; every
  answer is required;
- *versioned, with variants*: the same with ``answers: [[variant, ...], ...]`` (required parts, each
  with the forms it is accepted in);
- *one version*: ``version``, ``answers: [[variant, ...], ...]`` and ``evidence`` on the row itself;
  ``by_version`` may stand beside them for other versions.

``null`` for a version, and a row without answers, mean that the site does not say it: the right
answer is to abstain.

**What evidence is needed.** A question has *needs*; each is met by any one of its alternatives.

- Every evidence row is a need of its own (a comparison needs both sides, a list each of its items),
- except in the plain form when the question has one answer and that answer stands verbatim in every
  one of its evidence rows: the site then says the same thing in several places (a person's title on
  the pages of each programme) and any of them is right. They form one need.
- ``also_on`` names further pages with the same span, as right as ``page``.

Metrics named ``*_strict`` ignore the exception and ask for every row.
"""

from __future__ import annotations

import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from evaluation.matching import squeeze
from retrieval.errors import BadInputError


class _Model(BaseModel):
    model_config = ConfigDict(frozen=True, extra="ignore")


class Evidence(_Model):
    """One gold span: where it stands and its verbatim text.

    ``page`` is a path relative to the site's root. ``text_spaced`` is the same span with table
    cells joined by spaces. A ``generic`` span stands on so many pages that its text proves nothing:
    it is judged by page and heading path.
    """

    page: str
    heading_path: tuple[str, ...] = ()
    text: str = Field(min_length=1)
    text_spaced: str | None = None
    also_on: tuple[str, ...] = ()
    generic: bool = False

    @property
    def pages(self) -> tuple[str, ...]:
        """Return every page that is right, the named one first."""
        return (self.page, *self.also_on)

    @property
    def texts(self) -> tuple[str, ...]:
        """Return the accepted forms of the span, whitespace removed, without repeats."""
        forms = [squeeze(self.text)]
        if self.text_spaced is not None:
            forms.append(squeeze(self.text_spaced))
        return tuple(dict.fromkeys(forms))


class AnswerPart(_Model):
    """One thing an answer must say.

    ``variants`` are the accepted forms. Each is a tuple of strings that must stand together in one
    line of the answer: nearly always one string, two for "label: value" answers whose label and
    value are apart on the page.
    """

    variants: tuple[tuple[str, ...], ...]


class Question(_Model):
    """One question at one version of a site."""

    id: str
    site: str | None
    version: str | None
    type: str
    expected_mode: str | None
    text: str
    parts: tuple[AnswerPart, ...]
    needs: tuple[tuple[Evidence, ...], ...]

    @property
    def answerable(self) -> bool:
        """Tell whether the site answers the question in this version."""
        return bool(self.parts)

    @property
    def evidence(self) -> tuple[Evidence, ...]:
        """Return every evidence row, in file order of the needs."""
        return tuple(row for need in self.needs for row in need)

    @property
    def cluster(self) -> str:
        """Return the unit of resampling: the first gold page, or the question when it has none."""
        return min((row.page for row in self.evidence), default=f"question:{self.id}")


class _Gold(_Model):
    answers: list[str] | list[list[str]]
    evidence: list[Evidence] = []


class _Row(_Model):
    id: str
    type: str
    question: str = Field(min_length=1)
    expected_mode: str | None = None
    site: str | None = None
    version: str | None = None
    answers: list[str] | list[list[str]] | None = None
    evidence: list[Evidence] = []
    by_version: dict[str, _Gold | None] = {}

    def labels(self) -> set[str]:
        """Return the versions the row speaks of."""
        return set(self.by_version) | ({self.version} if self.version else set())


def load_questions(
    path: Path, *, site: str | None = None, version: str | None = None
) -> list[Question]:
    """Read the questions of ``path`` that are about ``site`` at ``version``, in file order.

    A row without ``site`` is about whatever site is asked for; a row without any version holds at
    every version. Raises BadInputError naming file and line for a row that cannot be read, and
    when no row is left, or when ``version`` is None and the rows need one.
    """
    rows = _read(path)
    about = [row for row in rows if site is None or row.site is None or row.site == site]
    if version is None and any(row.labels() for row in about):
        raise BadInputError(
            f"{path}: the questions have gold answers per version.",
            f"Name one of {_names(label for row in about for label in row.labels())}.",
        )
    questions = [q for row in about if (q := _question(row, version)) is not None]
    if not questions:
        sites = _names(row.site for row in rows if row.site) or "none named"
        labels = _names(label for row in rows for label in row.labels()) or "none named"
        raise BadInputError(
            f"{path}: no question is about site {site!r} at version {version!r}.",
            f"The file has sites: {sites}; versions: {labels}.",
        )
    return questions


def _names(values: Iterable[str]) -> str:
    return ", ".join(sorted(set(values)))


def _read(path: Path) -> list[_Row]:
    try:
        text = path.read_text(encoding="utf-8")
    except (OSError, UnicodeDecodeError) as error:
        raise BadInputError(
            f"The question file {path} cannot be read: {error}.", "Give a JSONL file in UTF-8."
        ) from error
    rows = []
    for number, line in enumerate(text.splitlines(), start=1):
        if line.strip():
            rows.append(_parse(path, number, line))
    if not rows:
        raise BadInputError(f"The question file {path} is empty.", "Put one JSON object a line.")
    _refuse_repeats(path, rows)
    return rows


def _parse(path: Path, number: int, line: str) -> _Row:
    try:
        value: Any = json.loads(line)
        return _Row.model_validate(value)
    except json.JSONDecodeError as error:
        raise BadInputError(
            f"{path}, line {number}: not JSON ({error.msg} at column {error.colno}).",
            "Put one complete JSON object on each line.",
        ) from error
    except ValidationError as error:
        first = error.errors()[0]
        where = ".".join(str(part) for part in first["loc"]) or "the row"
        raise BadInputError(
            f"{path}, line {number}: {where}: {first['msg']}.",
            "Correct that key; the forms are described in docs/evaluation.md.",
        ) from error


def _refuse_repeats(path: Path, rows: list[_Row]) -> None:
    seen: set[str] = set()
    for row in rows:
        if row.id in seen:
            raise BadInputError(f"{path}: id {row.id!r} occurs twice.", "Give each row its own id.")
        seen.add(row.id)


def _question(row: _Row, version: str | None) -> Question | None:
    """Return the question at ``version``, or None when the row says nothing of that version."""
    parts: tuple[AnswerPart, ...]
    needs: tuple[tuple[Evidence, ...], ...]
    if version in row.by_version:
        gold = row.by_version[version]
        parts, needs = ((), ()) if gold is None else _gold(gold)
    elif row.answers is None or row.version not in (None, version):
        return None
    else:
        parts, needs = _gold(_Gold(answers=row.answers, evidence=row.evidence))
    return Question(
        id=row.id,
        site=row.site,
        version=version,
        type=row.type,
        expected_mode=row.expected_mode,
        text=row.question,
        parts=parts,
        needs=needs,
    )


def _gold(gold: _Gold) -> tuple[tuple[AnswerPart, ...], tuple[tuple[Evidence, ...], ...]]:
    if not gold.answers:
        return (), ()
    plain = [answer for answer in gold.answers if isinstance(answer, str)]
    if not plain:
        parts = tuple(
            AnswerPart(variants=tuple((variant,) for variant in answer))
            for answer in gold.answers
            if not isinstance(answer, str)
        )
        return parts, tuple((row,) for row in gold.evidence)
    parts = tuple(AnswerPart(variants=_plain_variants(answer, gold.evidence)) for answer in plain)
    if len(plain) == 1 and all(_says(row, plain[0]) for row in gold.evidence):
        return parts, ((tuple(gold.evidence),) if gold.evidence else ())
    return parts, tuple((row,) for row in gold.evidence)


def _says(row: Evidence, answer: str) -> bool:
    return any(squeeze(answer) in text for text in row.texts)


def _plain_variants(answer: str, evidence: list[Evidence]) -> tuple[tuple[str, ...], ...]:
    """Return the accepted forms of a plain answer.

    "ISF C100G: 4 Units" is put together by the file's author: the page has both sides, apart. It
    is accepted as it stands, or when one line of the answer has both sides.
    """
    label, colon, value = answer.partition(": ")
    apart = (
        bool(colon)
        and not any(_says(row, answer) for row in evidence)
        and any(_says(row, label) and _says(row, value) for row in evidence)
    )
    return ((answer,), (label, value)) if apart else ((answer,),)
