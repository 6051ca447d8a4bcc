"""Faults on demand: what real servers do wrong, by path and by share or count of requests."""

from __future__ import annotations

import re
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime
from hashlib import blake2b
from threading import Lock
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator


class Fault(BaseModel):
    """One fault.

    ``kind``: ``latency`` waits ``seconds`` and goes on; ``status`` answers ``status`` with
    ``retry_after`` in the form asked for; ``reset`` breaks the connection after ``size`` bytes of
    body; ``loop`` redirects in a cycle of ``hops``; ``huge`` streams ``size`` bytes of HTML without
    a Content-Length.
    ``path`` is a regular expression searched in the path. ``share`` of the paths is hit, chosen by
    their hash so that the same paths are hit each time; ``count`` requests at most, per path.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Literal["latency", "status", "reset", "loop", "huge"]
    path: str = ""
    share: float = Field(default=1.0, ge=0.0, le=1.0)
    count: int | None = Field(default=None, ge=1)
    seconds: float = Field(default=0.0, ge=0.0)
    status: int = Field(default=503, ge=400, le=599)
    retry_after: float | None = Field(default=None, ge=0.0)
    retry_after_form: Literal["seconds", "date"] = "seconds"
    hops: int = Field(default=2, ge=1)
    size: int = Field(default=0, ge=0)

    @field_validator("path")
    @classmethod
    def _compiles(cls, value: str) -> str:
        try:
            re.compile(value)
        except re.error as error:
            raise ValueError(f"not a regular expression: {error}") from error
        return value

    def retry_after_header(self, now: datetime | None = None) -> str | None:
        """Return the Retry-After value: whole seconds, or an HTTP date (rounded up to a second)."""
        if self.retry_after is None:
            return None
        if self.retry_after_form == "seconds":
            return str(round(self.retry_after))
        at = (now or datetime.now(UTC)) + timedelta(seconds=self.retry_after, microseconds=999_999)
        return format_datetime(at.replace(microsecond=0), usegmt=True)


class FaultPlan:
    """The faults in force and how often each was used; safe to change while the server runs."""

    def __init__(self) -> None:
        self._lock = Lock()
        self._faults: tuple[Fault, ...] = ()
        self._used: dict[tuple[int, str], int] = {}

    def set(self, faults: list[Fault]) -> None:
        """Replace all faults and forget the counts."""
        with self._lock:
            self._faults = tuple(faults)
            self._used = {}

    def hits(self, path: str) -> list[Fault]:
        """Return the faults that hit this request of ``path``, in order, and count them."""
        with self._lock:
            hit = []
            for index, fault in enumerate(self._faults):
                used = self._used.get((index, path), 0)
                if fault.count is not None and used >= fault.count:
                    continue
                if re.search(fault.path, path) and _fraction(path) < fault.share:
                    self._used[index, path] = used + 1
                    hit.append(fault)
            return hit


def _fraction(path: str) -> float:
    """Map ``path`` to a number in [0, 1) that does not change from run to run."""
    return int.from_bytes(blake2b(path.encode(), digest_size=4).digest(), "big") / 2**32
