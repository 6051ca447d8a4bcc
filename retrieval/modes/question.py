"""What can be read off a question before anything is searched: words, names, what is asked for."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Callable
from dataclasses import dataclass

from retrieval.config import LimitsConfig
from retrieval.errors import BadInputError

# Words that carry no topic: function words, and the words of asking itself.
_STOP_WORDS = """
a about after all also an and any are as at be been before between both but by can could did do
does each either every find for from get give had has have he her his how i if in into is it its
know list many may me much must my name need no not of on one or our please shall she should
show so some such tell than that the their them then there these they this those through to
under until up us was we were what when where which while who whom whose why will with within
would you your
"""
STOP = frozenset(_STOP_WORDS.split())
_CALENDAR_WORDS = """
monday tuesday wednesday thursday friday saturday sunday january february march april may june
july august september october november december fall spring summer winter
"""
_CALENDAR = frozenset(_CALENDAR_WORDS.split())
_WORD = re.compile(r"[^\W_]+(?:['’][^\W_]+)*")
# Two capitalised words in a row, an acronym, or a code such as "CHEM 6A".
_NAME = re.compile(
    r"\b[A-Z][\w'’&-]*(?:\.?\s+(?:of|the|and|for|de|in|&)(?=\s+[A-Z])|\.?\s+[A-Z0-9][\w'’&-]*)*"
)

PERSON, PLACE, TIME, DATE, NUMBER, MONEY, EMAIL, PHONE, URL, YES_NO, REASON, ANY = (
    "person", "place", "time", "date", "number", "money", "email", "phone", "url", "yesno",
    "reason", "any",
)  # fmt: skip

_EXPECTS: tuple[tuple[str, re.Pattern[str]], ...] = tuple(
    (kind, re.compile(pattern, re.IGNORECASE))
    for kind, pattern in (
        (EMAIL, r"\be-?mail\b"),
        (PHONE, r"\b(?:phone|telephone|fax)\b|\bcall\b"),
        (URL, r"\b(?:web ?site|url|web address|web page|link)\b"),
        (
            MONEY,
            r"\b(?:fees?|costs?|price|tuition|stipend|salary|fines?|charges?|deposit)\b"
            r"|\bhow much (?:does|do|is|are|will|must)\b|\bpa(?:y|id)\b",
        ),
        (
            TIME,
            r"\bwhat time\b|\b(?:opening |office )?hours\b|\bwhen (?:does|is|do|are)\b.*"
            r"\b(?:open|close|start|begin)",
        ),
        (
            DATE,
            r"\bwhen\b|\b(?:what|which) (?:date|day|year|month|semester|term|quarter)\b"
            r"|\bdeadline\b|\bsince\b|\bhow (?:old|recent)",
        ),
        (
            NUMBER,
            r"\bhow (?:many|much|long|large|big|high|far|often|old)\b"
            r"|\b(?:number|amount|percentage|maximum|minimum|size|limit) (?:of|number)\b"
            r"|\b(?:units|credits|gpa|points|port)\b",
        ),
        (PERSON, r"\bwho(?:m|se)?\b|\bwhich (?:person|professor|lecturer|researcher)\b"),
        (PLACE, r"\bwhere\b|\b(?:room|building|address|location|campus)\b"),
        (REASON, r"\bwhy\b|\bhow (?:do|does|can|should|to|is|are)\b"),
        (YES_NO, r"^(?:is|are|does|do|can|may|must|will|has|have|did|was|were|should|could)\b"),
    )
)
_LIST = re.compile(
    r"\b(?:list|name|enumerate)\b(?! of)|\b(?:list of|all (?:the|of)?)\b|\bwhat are\b"
    r"|\bwho (?:all )?(?:are|belongs?|works?|teach(?:es)?)\b"
    r"|^(?:which|what)(?: \w+){0,2} (?:\w{3,}s|people|faculty|staff) "
    r"(?:are|do|does|can|must|have|has|in|of|at|offered|required|belong|work|teach|count|is|was|were)\b"
    r"|\bwhich (?:of the )?\w{3,}s\b",
    re.IGNORECASE,
)

_PLACE = (
    r"(?:pages?|programs?|programmes?|departments?|units?|schools?|colleges?|divisions?|majors?|"
    r"minors?|sections?|chapters?|sites?|documents?|guides?|policies|policy|groups?|cent(?:er|re)s?)"
)
# The places are what has, lists or mentions something, not what something else has.
_PLACES = re.compile(
    rf"\b(?:which|what) (?:(?!(?:is|are|was|were|the)\b)[\w-]+ ){{0,2}}{_PLACE} "
    r"(?:all |both |also )?"
    r"(?!(?:is|are|was|were|does|do|did|can|could|may|must|will|should|has to|have to|in|of|at|for|"
    r"belongs?|exists?|i|we|you|the|a|an)\b)\w+"
    rf"|\b(?:in|on|under|by|at) (?:which|what) (?:[\w-]+ ){{0,2}}{_PLACE}\b",
    re.IGNORECASE,
)


@dataclass(frozen=True)
class Question:
    """A question, read: nothing here depends on the index."""

    text: str
    words: tuple[str, ...]
    """Content words, folded, in order, without repeats."""
    names: tuple[str, ...]
    """Capitalised phrases that are not just the first word."""
    expects: str
    """Kind of thing asked for: one of the constants of this module."""
    is_list: bool
    """Several items are asked for."""
    asks_places: bool = False
    """The pages, programmes or departments are asked for that have or mention something."""


def fold(text: str) -> str:
    """Return ``text`` without case and accents."""
    decomposed = unicodedata.normalize("NFKD", text.replace("’", "'"))
    return "".join(c for c in decomposed if not unicodedata.combining(c)).casefold()


def stem(word: str) -> str:
    """Return a folded ``word`` with plural and common verb endings cut (a light S-stemmer).

    ``fees`` → ``fee``, ``libraries`` → ``librari``, ``library`` → ``librari``.
    """
    if word.endswith("'s"):
        word = word[:-2]
    if len(word) > 4 and word.endswith("ies"):
        return word[:-3] + "i"
    if len(word) > 3 and word.endswith("es") and word[-3] in "sxzh":
        return word[:-2]
    if len(word) > 3 and word.endswith("s") and not word.endswith(("ss", "us", "is")):
        word = word[:-1]
    if len(word) > 5 and word.endswith("ing"):
        return word[:-3]
    if len(word) > 4 and word.endswith("ed"):
        return word[:-2]
    if len(word) > 3 and word.endswith("y"):
        return word[:-1] + "i"
    return word.rstrip("e") if len(word) > 4 else word


def words_of(text: str) -> list[str]:
    """Return the folded words of ``text`` in order."""
    return [fold(match.group()) for match in _WORD.finditer(text)]


def content_words(text: str) -> list[str]:
    """Return the folded words of ``text`` that carry topic, in order, without repeats."""
    return list(dict.fromkeys(w for w in words_of(text) if w not in STOP))


def stems(text: str) -> frozenset[str]:
    """Return the stems of the content words of ``text``."""
    return frozenset(stem(w) for w in words_of(text) if w not in STOP)


def read_question(text: str) -> Question:
    """Read ``text`` (already checked)."""
    text = " ".join(text.split())
    expects = next((kind for kind, pattern in _EXPECTS if pattern.search(text)), ANY)
    return Question(
        text=text,
        words=tuple(content_words(text)),
        names=_names(text),
        expects=expects,
        is_list=bool(_LIST.search(text)),
        asks_places=bool(_PLACES.search(text)),
    )


def _names(text: str) -> tuple[str, ...]:
    found = []
    for match in _NAME.finditer(text):
        parts = re.sub(r"['’]s$", "", match.group().strip()).split()
        opened = match.start() == 0
        while parts and (fold(parts[0]) in STOP or (opened and len(parts) == 1)):
            parts, opened = parts[1:], False
        if parts and not all(fold(part) in _CALENDAR | STOP for part in parts):
            found.append(" ".join(parts))
    return tuple(dict.fromkeys(found))


def check_question(text: str, limits: LimitsConfig, known: Callable[[str], bool]) -> str:
    """Return ``text`` with whitespace folded, or raise BadInputError with the remedy.

    ``known`` tells whether a folded word is in the index's vocabulary: a question in another script
    is refused only when the site does not use that script either.
    """
    folded = " ".join(text.split())
    if not folded:
        raise BadInputError("The question is empty.", "Ask in a few words, for example a sentence.")
    found = words_of(folded)
    if not found:
        raise BadInputError(
            f"The question {folded[:40]!r} has no words.",
            "Ask in a few words, for example a sentence.",
        )
    if len(folded) > limits.max_characters or len(found) > limits.max_words:
        raise BadInputError(
            f"The question has {len(found)} words and {len(folded)} characters; at most "
            f"{limits.max_words} words and {limits.max_characters} characters are answered.",
            "Ask one thing at a time, or raise `limits` in the retrieval configuration.",
        )
    foreign = [word for word in found if not _latin(word)]
    if len(foreign) * 2 > len(found) and not any(known(word) for word in foreign):
        script = _script(foreign[0])
        raise BadInputError(
            f"The question is written in {script} letters, and the site has no such word.",
            "Ask in the language of the site's pages; the default models read English.",
        )
    return folded


def _latin(word: str) -> bool:
    letters = [c for c in word if c.isalpha()]
    return not letters or any(unicodedata.name(c, "").startswith("LATIN") for c in letters)


def _script(word: str) -> str:
    letter = next(c for c in word if c.isalpha())
    return unicodedata.name(letter, "other").split()[0].title()
