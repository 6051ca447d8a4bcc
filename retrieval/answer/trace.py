"""The stored trace of a question: what every stage saw, with ranks, scores and seconds.

A trace is one JSON object of bounded size, written atomically to ``traces/<trace_id>.json`` of the
site. When the store cannot be written the trace stays in memory and says so in ``stored``.
"""

from __future__ import annotations

import json
import os
import re
import secrets
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from retrieval.errors import BadInputError, SitequestError
from retrieval.snapshot.layout import SitePaths

TRACE_VERSION = 1
MODEL_STEPS = ("embed", "rerank", "read")
"""Steps that are model time: embedder and cross-encoder."""
_ID = re.compile(r"\d{8}T\d{6}-[0-9a-f]{8}")


@dataclass
class Trace:
    """What happened to one question. ``stages`` is in order; every value is plain JSON."""

    question: str
    snapshot_id: str
    config_fingerprint: str
    trace_id: str = ""
    created: str = ""
    route: dict[str, Any] = field(default_factory=dict)
    stages: list[dict[str, Any]] = field(default_factory=list)
    steps: dict[str, float] = field(default_factory=dict)
    """Seconds by step; the steps of MODEL_STEPS are model time."""
    outcome: dict[str, Any] = field(default_factory=dict)
    version: int = TRACE_VERSION
    stored: bool = False
    storage: str = "not asked for"
    _inside: float = field(default=0.0, repr=False)

    def __post_init__(self) -> None:
        now = datetime.now(UTC)
        self.created = self.created or now.isoformat(timespec="milliseconds")
        self.trace_id = self.trace_id or f"{now:%Y%m%dT%H%M%S}-{secrets.token_hex(4)}"

    @contextmanager
    def step(self, name: str) -> Iterator[None]:
        """Add the seconds spent inside, less those of steps within, to step ``name``."""
        started, outer, self._inside = time.perf_counter(), self._inside, 0.0
        try:
            yield
        finally:
            spent = time.perf_counter() - started
            self.steps[name] = self.steps.get(name, 0.0) + spent - self._inside
            self._inside = outer + spent

    def stage(self, name: str, **values: Any) -> None:
        """Record a stage."""
        self.stages.append({"stage": name, **values})

    @property
    def model_seconds(self) -> float:
        """Return the seconds spent in the embedder and the cross-encoder."""
        return sum(self.steps.get(name, 0.0) for name in MODEL_STEPS)

    def as_dict(self) -> dict[str, Any]:
        """Return the trace as plain JSON values."""
        return {
            "version": self.version,
            "trace_id": self.trace_id,
            "created": self.created,
            "question": self.question,
            "snapshot_id": self.snapshot_id,
            "config_fingerprint": self.config_fingerprint,
            "route": self.route,
            "steps": {name: round(seconds, 6) for name, seconds in self.steps.items()},
            "model_seconds": round(self.model_seconds, 6),
            "stages": self.stages,
            "outcome": self.outcome,
            "stored": self.stored,
            "storage": self.storage,
        }


def store_trace(trace: Trace, paths: SitePaths, keep: int) -> None:
    """Write ``trace`` atomically and remove the oldest beyond ``keep``; set ``stored``.

    A store that cannot be written does not fail the question: the trace says why it is not stored.
    """
    target = paths.traces / f"{trace.trace_id}.json"
    temporary = target.with_suffix(f".{os.getpid()}.tmp")
    trace.stored, trace.storage = True, f"traces/{target.name}"
    try:
        paths.traces.mkdir(parents=True, exist_ok=True)
        temporary.write_text(json.dumps(trace.as_dict(), ensure_ascii=False), encoding="utf-8")
        os.replace(temporary, target)
        _prune(paths.traces, keep)
    except OSError as error:
        trace.stored = False
        trace.storage = f"in memory only: {error.strerror or error}"
        with suppress(OSError):
            temporary.unlink(missing_ok=True)


def _prune(directory: Path, keep: int) -> None:
    # Names begin with the time, so the order of names is the order of age. Listing on each
    # question would grow with the store: only one question in sixteen looks.
    if secrets.randbelow(16):
        return
    names = sorted(entry.name for entry in os.scandir(directory) if entry.name.endswith(".json"))
    for name in names[: max(0, len(names) - keep)]:
        (directory / name).unlink(missing_ok=True)


def load_trace(root: str | Path, site: str, trace_id: str) -> dict[str, Any]:
    """Return the stored trace ``trace_id`` of ``site`` below the data ``root``.

    Raises BadInputError when the id is malformed or unknown, SitequestError when the file is
    damaged.
    """
    paths = SitePaths(Path(root), site)
    if not _ID.fullmatch(trace_id):
        raise BadInputError(f"{trace_id!r} is not a trace id.", "Take `trace_id` of an answer.")
    file = paths.traces / f"{trace_id}.json"
    try:
        loaded: dict[str, Any] = json.loads(file.read_text(encoding="utf-8"))
    except FileNotFoundError:
        raise BadInputError(
            f"There is no trace {trace_id} of site {site}.",
            "Only the newest traces are kept; ask again to make a new one.",
        ) from None
    except (json.JSONDecodeError, UnicodeDecodeError) as error:
        raise SitequestError(f"The trace file {file} is damaged: {error}.", "Delete it.") from error
    return loaded
