"""From raw mentions to resolved forms: what counts as a name, and under which form it is looked up.

Works on distinct (type, surface) pairs, of which there are few, and on whole columns.
"""

from __future__ import annotations

import re

import polars as pl

from assets.extraction.casing import COMMON_SHARE, PLAIN_SHARE
from assets.extraction.mentions import GAZETTEER
from assets.extraction.patterns import EXTRACTOR as RULE
from assets.extraction.personnames import PersonName, parse_person
from assets.extraction.roles import ROLE_WORDS
from retrieval.index.gazetteer import normalise

# Literals are no entities: they are values of facts.
ENTITY_TYPES = ("PERSON", "ORG", "PLACE", "GROUP", "EVENT", "WORK", "LAW", "CODE")
_ORG_WORDS = frozenset(
    ("department", "school", "college", "institute", "center", "centre", "office", "library",
     "division", "university", "laboratory", "museum", "committee", "association", "society")
)  # fmt: skip
_MAX_WORDS = 10
_LABEL_USES = 3
_OFTEN = 20
_SMALL_WORDS = frozenset(("of", "and", "for", "the", "in", "on", "at", "to", "a", "an", "or", "by"))
# The small model is wrong about most single words of these types.
_LONG_TYPES = ("WORK", "EVENT", "LAW")


_ARTICLE = re.compile(r"^(?:[Tt]he|[Aa]n?) ")


def plain_name(surface: str) -> str:
    """Return ``surface`` as a name: spaces folded, no leading article."""
    return _ARTICLE.sub("", " ".join(surface.split()).strip("“”\"'‘’ "))


def linkable_mentions(mentions: pl.DataFrame) -> pl.DataFrame:
    """Return the mentions that may be entities: typed as one, not inside a surer mention.

    A model's span that overlaps a pattern's or a site name's is dropped: "CSE 100" is a code, not
    an organisation. A site name inside a longer pattern ("MATH" in "MATH 1A") is dropped as well.
    """
    spans = mentions.select(
        "text_hash", "start", "end", "type", "surface", "confidence", "extractor"
    )
    sure = spans.filter(pl.col("extractor") == RULE)
    site = _outside(spans.filter(pl.col("extractor") == GAZETTEER), sure)
    model = _outside(
        spans.filter(~pl.col("extractor").is_in([RULE, GAZETTEER])), pl.concat([sure, site])
    )
    typed = pl.col("type").is_in(ENTITY_TYPES)
    return pl.concat([sure.filter(typed), site, model.filter(typed)]).sort(
        "text_hash", "start", "end", "type"
    )


def _outside(spans: pl.DataFrame, surer: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of ``spans`` that overlap no row of ``surer``."""
    keys = ["text_hash", "start", "end", "type"]
    overlapping = (
        spans.join(surer.select("text_hash", other_start="start", other_end="end"), on="text_hash")
        .filter((pl.col("start") < pl.col("other_end")) & (pl.col("other_start") < pl.col("end")))
        .select(keys)
        .unique()
    )
    return spans.join(overlapping, on=keys, how="anti")


def label_forms(texts: pl.DataFrame, blocks: pl.DataFrame) -> set[str]:
    """Return the normal forms of what labels things on this site and names none of them.

    A label is the beginning of a line up to its colon in at least 3 texts, a heading on at least 3
    pages, or a short line of its own in at least 20 texts and one in 200 ("Hours & Format"). Of
    labels that are used as often as that their first words count as well ("Repeat" of "Repeat
    rules").
    """
    often = max(_OFTEN, texts.height // 200)
    lines = pl.col("text").str.extract_all(r"(?m)^[^:\n\t]{2,60}(?::|$)")
    opened = (
        texts.select(line=lines)
        .explode("line", empty_as_null=False)
        .group_by("line")
        .len()
        .filter(
            (pl.col("len") >= often)
            | ((pl.col("len") >= _LABEL_USES) & pl.col("line").str.ends_with(":"))
        )
    )
    headings = (
        blocks.filter("kept")
        .select(
            "page_id", heading=pl.col("heading_path").list.eval(pl.element().struct.field("text"))
        )
        .explode("heading", empty_as_null=False)
        .unique()
        .group_by("heading")
        .len()
        .filter(pl.col("len") >= _LABEL_USES)["heading"]
    )
    forms = {normalise(heading) for heading in headings.to_list()}
    for line, uses in opened.iter_rows():
        words = normalise(line).split(" ")
        least = 1 if uses >= often else len(words)
        forms.update(" ".join(words[:size]) for size in range(least, len(words) + 1))
    return forms


def with_forms(
    mentions: pl.DataFrame, shares: dict[str, float], labels: set[str]
) -> tuple[pl.DataFrame, set[PersonName]]:
    """Add ``form`` to mentions and drop what is no name; also return the persons' spellings.

    A single person's surname has the form "~surname" ("^surname" when an honorific stands before
    it), because who is meant depends on the page.
    """
    distinct = (
        mentions.select("type", "surface", "extractor")
        .unique()
        .sort("type", "surface", "extractor")
    )
    ordinary = _code_prefixes(distinct) | labels
    forms: list[str | None] = []
    persons: set[PersonName] = set()
    for type_, surface, extractor in distinct.iter_rows():
        if extractor == GAZETTEER or (extractor == RULE and type_ != "PERSON"):
            forms.append(normalise(surface))
        elif type_ == "PERSON":
            name = parse_person(surface)
            if (
                name is None
                or _no_person(name.form, shares, extractor == RULE)
                or (extractor != RULE and name.form in labels)
            ):
                forms.append(None)
            elif name.given:
                persons.add(name)
                forms.append(name.form)
            else:
                forms.append(("^" if name.titled else "~") + name.surname)
        else:
            form = normalise(surface)
            noise = form in ordinary or _no_name(surface, form, type_, shares)
            forms.append(None if noise else form)
    distinct = distinct.with_columns(form=pl.Series(forms, dtype=pl.String))
    kept = distinct.filter(pl.col("form").is_not_null() & (pl.col("form") != ""))
    return mentions.join(kept, on=["type", "surface", "extractor"]), persons


def _code_prefixes(distinct: pl.DataFrame) -> set[str]:
    """Return the normal forms of what stands before the number of the site's codes."""
    codes = distinct.filter(pl.col("type") == "CODE")["surface"].to_list()
    return {normalise(code).rpartition(" ")[0] for code in codes}


def _no_person(form: str, shares: dict[str, float], sure: bool) -> bool:
    """Say whether ``form`` is no person: too many of its words are ordinary words of the site."""
    words = [w for w in form.split(" ") if len(w) > 1]
    if not words or ROLE_WORDS.intersection(words):
        return True
    if sure:
        return False
    plain = sum(shares.get(w, 0.0) >= PLAIN_SHARE for w in words)
    return plain > len(words) // 3 or shares.get(words[-1], 0.0) >= COMMON_SHARE


def _no_name(surface: str, form: str, type_: str, shares: dict[str, float]) -> bool:
    """Say whether a recognised span is no name.

    Numbers are parts of codes; a colon, an open bracket or a last small word shows a wrong border;
    words that the site also writes in lower case are ordinary words in capitals.
    """
    words = form.split(" ")
    if len(form) < 3 or len(words) > _MAX_WORDS or any(c.isdigit() for c in form):
        return True
    if ":" in surface or surface.count("(") != surface.count(")") or words[-1] in _SMALL_WORDS:
        return True
    if (type_ in _LONG_TYPES and len(words) < 2) or words[0] in ROLE_WORDS:
        return True
    if len(words) > 1 and type_ in ("ORG", "PLACE") and _ORG_WORDS.intersection(words):
        return all(w in _ORG_WORDS or shares.get(w, 0.0) >= COMMON_SHARE for w in words)
    return all(shares.get(w, 0.0) >= PLAIN_SHARE for w in words if w not in _SMALL_WORDS)
