"""The manifest of a snapshot: what it holds, where it came from, and whether it may be served."""

from __future__ import annotations

from datetime import datetime
from typing import Literal

from pydantic import BaseModel, ConfigDict

MANIFEST_VERSION = 1


class _Model(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class TableEntry(_Model):
    """One table file: rows, sha256 of the file, content data version, code and schema version.

    ``data_version`` hashes the content without the history columns, ``content_hash`` with them.
    """

    file: str
    rows: int
    sha256: str
    data_version: str
    content_hash: str
    code_version: str
    schema_fingerprint: str


class VectorsEntry(_Model):
    """The Lance directory: rows, dimension, model and content data version."""

    dir: str
    rows: int
    dim: int
    data_version: str
    lance_version: int


class ModelEntry(_Model):
    """A model that took part: its name, revision and the sha256 of its weights."""

    role: Literal["embedder", "reranker", "ner"]
    name: str
    revision: str
    sha256: str


class CheckResult(_Model):
    """One check: severity error blocks publishing, warn never does."""

    name: str
    table: str | None = None
    severity: Literal["error", "warn"]
    passed: bool
    detail: str = ""


class Verdict(_Model):
    """The gate's verdict, added when the candidate is published or held."""

    status: Literal["published", "held"]
    reason: str
    decided: datetime


class Manifest(_Model):
    """Everything a reader or an auditor needs to know of a snapshot before opening a table."""

    version: int = MANIFEST_VERSION
    id: str
    site: str
    parent: str | None
    created: datetime
    label: str | None = None
    run_id: str | None = None
    git_sha: str | None = None
    config_fingerprint: str
    tables: dict[str, TableEntry]
    vectors: VectorsEntry | None
    models: list[ModelEntry]
    stats: dict[str, float | int | str] = {}
    checks: list[CheckResult] = []
    verdict: Verdict | None = None
