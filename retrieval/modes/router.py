"""Routing by readable rules: the mode, how sure, the second choice, and the words that decided.

Each rule votes for a mode with a weight and names the words that matched. The mode with the largest
sum wins; with no vote the question goes to ``direct``. Confidence is the winner's share of all
votes, where ``direct`` always holds a vote of `PRIOR` (a question is direct until words say else).
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Literal

from retrieval.errors import BadInputError
from retrieval.modes.question import Question

Mode = Literal["direct", "navigation", "reasoning"]
MODES: tuple[Mode, ...] = ("direct", "navigation", "reasoning")
PRIOR = 0.6


@dataclass(frozen=True)
class Rule:
    """One rule: a pattern over the question that votes for a mode."""

    name: str
    mode: Mode
    weight: float
    pattern: re.Pattern[str]


@dataclass(frozen=True)
class Route:
    """Where a question goes; ``reason`` names the rules and the words they matched."""

    mode: Mode
    confidence: float
    alternative: Mode | None
    reason: str
    forced: bool = False


def _rule(name: str, mode: Mode, weight: float, pattern: str) -> Rule:
    return Rule(name, mode, weight, re.compile(pattern, re.IGNORECASE))


_ROLE = (
    r"(?:chair|head|dean|director|professor|lecturer|instructor|author|advis[eo]r|manager|"
    r"coordinator|president|provost|supervisor|contact|member|leader)s?"
)
_GROUP = r"(?:department|school|college|faculty|group|unit|office|cent(?:er|re)|institute|team)s?"

RULES: tuple[Rule, ...] = (
    _rule(
        "comparison", "navigation", 1.5,
        r"\b(?:difference|differ|differs|compare[ds]?|comparison|versus|vs\.?)\b"
        r"|\b(?:more|less|longer|shorter|larger|smaller|higher|lower|earlier|later|cheaper)\b.*\b(?:than|or)\b",
    ),
    _rule(
        "two questions", "navigation", 1.4,
        r"\band\b,?\s+(?:also\s+)?(?:what|who|when|where|how|which|why|whom|whose|is|are|does|do|can)\b",
    ),
    _rule(
        "two places", "navigation", 1.2,
        r"\b(?:at|in|on|of|from|for) both\b|\b(?:respectively|as well as|each of)\b"
        r"|\bboth\b.+\band\b",
    ),
    _rule(
        "two names", "navigation", 1.2,
        r"(?-i:[A-Z][\w'’-]+)\s+and\s+the\s+(?-i:[A-Z])[^?]*\b(?:each|both|respectively)\b",
    ),
    _rule(
        "two codes", "navigation", 1.2,
        r"(?-i:[A-Z][\w&/-]* [A-Z]{0,3}\d+\w* (?:and|or|with|from|than) "
        r"(?:[A-Z][\w&/-]* ){1,3}[A-Z]{0,3}\d)",
    ),
    _rule(
        "where to find", "navigation", 1.3,
        r"\b(?:which|what) (?:web ?)?pages?\b"
        r"|\bwhere (?:can|do|could|should) (?:i|one|we|you|students?) "
        r"(?:find|read|look|see|learn|apply|get)\b|\blinks? (?:to|from)\b|\bnavigate\b",
    ),
    _rule(
        "steps over pages", "navigation", 1.0,
        r"\b(?:steps?|procedure|process)\b.*\b(?:to|for)\b|\bbefore (?:i|you|a student) can\b",
    ),
    _rule(
        "two facts of a thing", "navigation", 0.8,
        r"\b(?:what|who|when|where)\b.+\b(?:phone|e-?mail|address|room|hours|fee|deadline|name|title|"
        r"requirements?|units?|dates?)\b.+\band\b.+\b(?:phone|e-?mail|address|room|hours|fee|deadline|"
        r"name|title|requirements?|units?|dates?)\b",
    ),
    _rule(
        "all of a kind", "reasoning", 1.4,
        r"\b(?:list|name|enumerate)\b (?:all|every|each|the|of|some|two|three|four|five)\b"
        r"|\blist of\b"
        r"|\ball (?:the|of)\b|\bwho are\b|\bwhich (?:of the )?\w{3,}s\b"
        r"|\bwhat (?:other )?\w{3,}s (?:are|does|do|is)\b"
    ),
    _rule("count", "reasoning", 0.4, r"\bhow many \w+s\b"),
    _rule(
        "role in a group", "reasoning", 0.9,
        rf"\bwho\b.*\b{_ROLE}\b.*\b{_GROUP}\b.*\b(?:that|which|whose|where|of)\b"
        r".*\b(?:offers?|teach|has|runs?|hosts?|houses?)\w*",
    ),
    _rule(
        "chain of things", "reasoning", 1.2,
        rf"\b(?:the|a|an|same|which|what) (?:\w+ )?(?:{_ROLE}|{_GROUP}|person|people|course|"
        r"program(?:me)?|page|building|place|project|lab|section|chapter|command|"
        r"parameter|function|view|tool)s? "
        r"(?:that|which|whose|who|where|in which|to which|for which)\b",
    ),
    _rule(
        "how things are related", "reasoning", 1.3,
        r"\b(?:related|relationship|relation|connected|connection|associated|affiliated|"
        r"in common)\b|\bbelongs? to\b|\bworks? (?:with|for|under|in)\b|\breports? to\b"
        r"|\bmembers? of\b|\btaught by\b",
    ),
    _rule(
        "something of a role's holder", "reasoning", 1.0,
        rf"^(?!who (?:is|are|was)\b).*\b(?:the|their|its) (?:[\w-]+ )?{_ROLE} (?:of|for)\b",
    ),
    _rule(
        "possessive chain", "reasoning", 1.0,
        r"\b\w+['’]s (?:\w+ )?\w+['’]s\b|\bof the \w+ of the\b",
    ),
)  # fmt: skip


def route(question: Question, mode: str = "auto") -> Route:
    """Return the route of ``question``; a ``mode`` other than auto is honoured.

    Raises BadInputError for a mode that does not exist.
    """
    if mode != "auto" and mode not in MODES:
        raise BadInputError(f"There is no mode {mode!r}.", f"Use auto, {', '.join(MODES)}.")
    votes: dict[Mode, float] = {"direct": PRIOR, "navigation": 0.0, "reasoning": 0.0}
    reasons: dict[Mode, list[str]] = {name: [] for name in MODES}
    for rule in RULES:
        if match := rule.pattern.search(question.text):
            votes[rule.mode] += rule.weight
            words = match.group()
            shown = words if len(words) <= 60 else words[:57] + "…"
            reasons[rule.mode].append(f"{rule.name} ({shown!r})")
    ranked = sorted(MODES, key=lambda name: (-votes[name], MODES.index(name)))
    chosen, second = ranked[0], ranked[1]
    total = sum(votes.values())
    if mode != "auto":
        forced: Mode = next(name for name in MODES if name == mode)
        other = chosen if chosen != forced else second
        return Route(forced, 1.0, other, "asked for", forced=True)
    reason = "; ".join(reasons[chosen]) or "one thing is asked: no rule for several pages or things"
    alternative = second if votes[second] > 0 else None
    return Route(chosen, round(votes[chosen] / total, 3), alternative, reason)
