"""Sub-questions by rules: coordination, comparison, two things at once, relative clauses."""

from __future__ import annotations

import re

from retrieval.modes.question import content_words, read_question, words_of

_WH = r"what|who|whom|whose|when|where|how|which|why|is|are|does|do|can|must|will"
_TWO_ASKED = re.compile(rf",?\s+and\s+(?:also\s+)?(?=(?:{_WH})\b)", re.IGNORECASE)
_PRONOUN = re.compile(r"\b(?:it|its|they|their|them|there|he|she|his|her|this|that one)\b", re.I)
_BETWEEN = re.compile(
    r"\b(?:between|compare|comparing)\s+(?P<a>.+?)\s+(?:and|with|to|versus|vs\.?)\s+(?P<b>[^?,]+)",
    re.IGNORECASE,
)
_BARE = r"[A-Z][\w'’&.-]*(?:\s+(?:(?:of|and|for|in|&)\s+)?[A-Z0-9][\w'’&.-]*)*"
_NAME = rf"(?:the\s+)?{_BARE}"
# Two names with an article between them: "the BSc Computing and the BSc Ecology".
_NAMES = re.compile(rf"(?P<a>{_NAME})\s+(?:and|or|with|from|to|than)\s+(?P<b>the\s+{_BARE})")
# Two names with numbers need no article: "SURV 12 and BOT 101".
_CODE = r"(?:[A-Z][\w&/-]*\s+){1,3}[A-Z]{0,3}\d+\w*"
_CODES = re.compile(rf"(?P<a>{_CODE})\s+(?:and|or|with|from|to|than)\s+(?P<b>{_CODE})")
_BOTH = re.compile(r"\bboth\s+(?P<a>.+?)\s+and\s+(?P<b>[^?,]+)", re.IGNORECASE)
_OR = re.compile(r"[,:]\s*(?P<a>[^,:?]+?),?\s+or\s+(?P<b>[^?]+)", re.IGNORECASE)
_THAN = re.compile(r"^(?P<a>.+?)\bthan\s+(?P<b>[^?]+)", re.IGNORECASE)
_OF_AND_OF = re.compile(
    r"(?P<a>.+\b(?:of|for|in|at|to|from)\b.+?),?\s+and\s+(?P<b>(?:the |a |an )?[\w' -]+?"
    r"\b(?:of|for|in|at|to|from)\b[^?]+)",
    re.IGNORECASE,
)
_RELATIVE = re.compile(
    r"\b(?:the|a|an|which|what|same)\s+(?P<noun>(?:[\w'’-]+\s+){0,2}[\w'’-]+?),?\s+"
    r"(?:that|which|whose|who|where|(?:in|to|for|of|from|by|on|at|under) (?:which|whom))"
    r"\s+(?P<clause>[^?]+)",
    re.IGNORECASE,
)
_POSSESSIVE = re.compile(
    r"(?P<owner>(?:[A-Z][\w-]*\s+(?:(?:of|the|and|for)\s+)*)*[\w-]+)['’]s\s+(?P<rest>[^?]+)"
)


def subquestions(text: str, limit: int) -> list[str]:
    """Return at most ``limit`` sub-questions of ``text``, without ``text`` itself, in its order."""
    question = " ".join(text.split()).rstrip("?. ")
    for split in (_asked_together, _two_names, _compared, _two_of, _relative, _owned):
        if found := split(question):
            break
    unique: dict[tuple[str, ...], str] = {}
    for part in found:
        key = tuple(words_of(part))
        if content_words(part) and key != tuple(words_of(question)):
            unique.setdefault(key, " ".join(part.split()))
    return list(unique.values())[:limit]


def _asked_together(question: str) -> list[str]:
    parts = _TWO_ASKED.split(question)
    if len(parts) < 2:
        return []
    subject = _subject(parts[0])
    # A pronoun alone finds nothing: the thing asked about first stands in for it.
    return [parts[0]] + [
        f"{part} {subject}" if subject and _PRONOUN.search(part) else part for part in parts[1:]
    ]


def _subject(part: str) -> str:
    names = read_question(part).names
    if names:
        return " ".join(names)
    tail = re.split(r"\b(?:of|for|in|at|about|does|do|is|are|can)\b", part)[-1]
    return tail.strip() if len(words_of(tail)) <= 8 else " ".join(words_of(tail)[-8:])


def _two_names(question: str) -> list[str]:
    match = _NAMES.search(question) or _CODES.search(question)
    if not match:
        return []
    frame = f"{question[: match.start()]} {{}} {question[match.end() :]}"
    return [_fill(frame, match["a"]), _fill(frame, match["b"])]


def _compared(question: str) -> list[str]:
    for pattern in (_BETWEEN, _BOTH):
        if match := pattern.search(question):
            frame = question[: match.start()] + " {} " + question[match.end() :]
            return [_fill(frame, match["a"]), _fill(frame, match["b"])]
    if match := _OR.search(question):
        frame = question[: match.start()] + " {}"
        return [_fill(frame, match["a"]), _fill(frame, match["b"])]
    if match := _THAN.search(question):
        return [match["a"], match["b"]]
    return []


def _fill(frame: str, thing: str) -> str:
    before, _, after = frame.partition("{}")
    return f"{before.rstrip(' ,:')} {thing.strip()} {after.strip()}".strip()


def _two_of(question: str) -> list[str]:
    match = _OF_AND_OF.search(question)
    if not match:
        return []
    lead = re.match(rf"(?:{_WH})\b(?:\s+(?:is|are|was|were|does|do))?", question, re.IGNORECASE)
    prefix = f"{lead.group()} " if lead else ""
    return [match["a"], prefix + match["b"]]


def _relative(question: str) -> list[str]:
    match = _RELATIVE.search(question)
    if not match or len(content_words(match["clause"])) < 1:
        return []
    return [f"{match['noun']} {match['clause']}"]


def _owned(question: str) -> list[str]:
    match = _POSSESSIVE.search(question)
    if not match or len(content_words(match["owner"])) < 1:
        return []
    owner = re.sub(rf"^(?:{_WH})\s+(?:is|are|was|were)?\s*", "", match["owner"], flags=re.I)
    return [owner] if content_words(owner) else []
