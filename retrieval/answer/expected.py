"""Does a span hold the kind of thing that is asked for? Patterns, one per kind.

A number is looked for beside the noun that is counted ("how many units": "4 Units", "15 - 20
units"), since nearly every line holds some number.
"""

from __future__ import annotations

import re

from retrieval.modes import question as q

_MONTHS = (
    r"(?:jan(?:uary)?|feb(?:ruary)?|mar(?:ch)?|apr(?:il)?|may|june?|july?|aug(?:ust)?|"
    r"sept?(?:ember)?|oct(?:ober)?|nov(?:ember)?|dec(?:ember)?)"
)
_DAYS = r"(?:mon|tues?|wednes|thurs?|fri|satur|sun)(?:day)?s?"

_PATTERNS: dict[str, re.Pattern[str]] = {
    q.EMAIL: re.compile(r"[\w.+-]+@[\w-]+\.[\w.]+"),
    q.PHONE: re.compile(r"(?:\+\d{1,3}[ .-]?)?(?:\(\d{2,4}\)|\d{2,4})[ .-]\d{3,4}[ .-]?\d{2,4}"),
    q.URL: re.compile(r"https?://\S+|\bwww\.\S+|\b[\w-]+\.(?:edu|org|com|net|gov)\b", re.I),
    q.MONEY: re.compile(r"[$€£¥]\s?\d|\b\d[\d,.]*\s?(?:dollars?|euros?|USD|EUR|GBP|HKD|pounds?)\b"),
    q.TIME: re.compile(
        rf"\b\d{{1,2}}[:.]\d{{2}}\b|\b\d{{1,2}}\s?[ap]\.?m\b|\bnoon\b|\bmidnight\b|\b{_DAYS}\b",
        re.I,
    ),
    q.DATE: re.compile(
        rf"\b{_MONTHS}\.?\s+\d{{1,4}}\b|\b\d{{1,2}}\.?\s+{_MONTHS}\b|\b(?:1[6-9]|20)\d{{2}}\b"
        rf"|\b\d{{1,2}}/\d{{1,2}}(?:/\d{{2,4}})?\b|\b{_DAYS}\b|\b(?:fall|winter|spring|summer|autumn)\b",
        re.I,
    ),
    q.NUMBER: re.compile(
        r"\d|\b(?:one|two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|once|twice|"
        r"half|dozen|hundred|thousand)\b",
        re.I,
    ),
    q.PERSON: re.compile(
        r"\b(?:[A-Z][\w'’.-]+\s+){1,3}[A-Z][\w'’-]+\b|\b[A-Z][\w'’-]+,\s+[A-Z][\w.]+"
    ),
    q.PLACE: re.compile(
        r"\b(?:room|building|hall|floor|street|st\.|avenue|ave|road|campus|cent(?:er|re)|library|"
        r"tower|wing|suite|plaza|house|block)\b|\b[A-Z]{1,4}[- ]?\d{2,4}\b",
        re.I,
    ),
    q.REASON: re.compile(
        r"\b(?:because|since|therefore|so that|in order to|must|should|can|may|submit|apply|"
        r"contact|request|use|click|select|complete)\b",
        re.I,
    ),
}


def has_expected(kind: str, text: str) -> bool | None:
    """Return whether ``text`` holds a thing of ``kind``; None when the kind has no pattern."""
    pattern = _PATTERNS.get(kind)
    return None if pattern is None else bool(pattern.search(text))


_COUNTED = re.compile(
    r"\bhow (?:many|much)\s+(?P<many>.+?)(?=\s+(?:is|are|was|were|do|does|did|can|could|may|must|"
    r"will|should|has|have|had|of|in|for|to|per|at|on|from|with|that|who|which)\b|[?,.]|$)"
    r"|\b(?:number|amount) of\s+(?P<number>[\w-]+(?:\s+[\w-]+)?)",
    re.IGNORECASE,
)
_UNITS = re.compile(r"\b(units?|credits?|points?)\b", re.IGNORECASE)
_NUMERAL = re.compile(r"\d[\d.,]*(?:[-–]\d[\d.,]*)?")
_NUMERAL_WORDS = """
one two three four five six seven eight nine ten eleven twelve thirteen fourteen fifteen sixteen
seventeen eighteen nineteen twenty thirty forty fifty sixty hundred
"""
_NUMERALS = frozenset(_NUMERAL_WORDS.split())
_TOKEN = re.compile(r"\d[\d.,]*(?:[-–]\d+)?(?![\w])|[^\W_]+")
_CLOSING = re.compile(r"\(\d[\d.]*(?:\s?(?:[-–]|or|to)\s?\d[\d.]*)?\)\s*$")
_NEAR = 2  # words between a number and what it counts: "twelve upper-division courses"


def counted(question: str) -> frozenset[str]:
    """Return the stems of the nouns whose number ``question`` asks for; empty when it asks none."""
    nouns = {q.words_of(m["many"] or m["number"])[-1] for m in _COUNTED.finditer(question)
             if q.words_of(m["many"] or m["number"])}  # fmt: skip
    nouns |= {q.fold(m.group(1)) for m in _UNITS.finditer(question)}
    return frozenset(q.stem(noun) for noun in nouns)


def counts(nouns: frozenset[str], text: str) -> bool:
    """Return whether ``text`` holds a number just before one of ``nouns`` (stems)."""
    tokens = [q.fold(token) for token in _TOKEN.findall(text)]
    for at, token in enumerate(tokens):
        if token in _NUMERALS or _NUMERAL.fullmatch(token):
            following = tokens[at + 1 : at + 2 + _NEAR]
            if any(q.stem(word) in nouns for word in following):
                return True
    return False


def asks_size(question: str) -> bool:
    """Return whether ``question`` asks for the size of a thing as titles state it: its units."""
    return bool(_UNITS.search(question))


def closes_with_number(text: str) -> bool:
    """Return whether ``text`` ends in a number in brackets, as a title with its size does."""
    return bool(_CLOSING.search(text))
