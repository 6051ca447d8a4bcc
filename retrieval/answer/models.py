"""The answer as it is given out: claims, each a verbatim quote with its citations."""

from __future__ import annotations

from datetime import datetime

from pydantic import BaseModel, ConfigDict, Field


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class Citation(_Model):
    """Where a claim stands: ``quote`` occurs verbatim (whitespace folded) in the block's text."""

    block_id: str
    lineage_id: str
    url: str
    heading_path: list[str]
    quote: str
    entities: list[str] = Field(description="names of the entities linked to the block")
    fetched_at: datetime | None = Field(description="when the page version was fetched (UTC)")


class Claim(_Model):
    """One thing the answer says: ``text`` is the quote as it is read (cells named by headers)."""

    text: str
    citations: list[Citation]


class Answer(_Model):
    """An answer, or an abstention (``abstained``, no claims, ``answer`` says so)."""

    question: str
    answer: str
    abstained: bool
    mode: str
    claims: list[Claim]
    snapshot_id: str
    trace_id: str
    reader_tokens: int = Field(description="tokens of the evidence given to the reader")
    seconds: float = Field(description="wall-clock seconds of the whole question")
    confidence: float = Field(description="probability that the evidence answers the question")
    trace_stored: bool = Field(description="false: the store is read-only, the trace is in memory")
