"""The crawl journal: one SQLite file per crawl, the only state of a crawl.

What a page gave (outcome, body, links found) is committed in one transaction, so a crawl killed at
any instant has for each URL either everything or nothing, and goes on where it stood. WAL with
``synchronous=NORMAL`` survives the death of the process; after a power cut the last pages are
fetched again.

Tables: ``meta`` (key, value); ``urls`` (the frontier and everything known); ``known`` (what the
parent snapshot says of a URL); ``fetches`` (one outcome per URL); ``outlinks`` (packed int32 ids
of ``urls``); ``bodies`` (until they are in the body store); ``notes`` (robots, sitemaps, pauses).
"""

from __future__ import annotations

import sqlite3
import sys
import zlib
from array import array
from collections.abc import Iterable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass, fields
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Literal, Self

from retrieval.errors import SitequestError

if TYPE_CHECKING:
    import numpy as np
    import numpy.typing as npt
    import polars as pl

VERSION = 1
# States of the parent snapshot in which a URL has a body that an outage must not lose.
HELD_STATES = ("live", "duplicate", "unlinked", "unreachable")
Outcome = Literal[
    "ok", "unchanged", "redirect", "missing", "denied", "unreachable", "blocked", "skipped"
]
Source = Literal["seed", "known", "sitemap", "link", "redirect"]

_SCHEMA = """
CREATE TABLE IF NOT EXISTS meta (key TEXT PRIMARY KEY, value TEXT NOT NULL) WITHOUT ROWID;
CREATE TABLE IF NOT EXISTS urls (
    id INTEGER PRIMARY KEY,
    key TEXT NOT NULL UNIQUE,
    url TEXT NOT NULL,              -- public URL to fetch: the first form linked
    best_url TEXT NOT NULL,         -- shortest, then first in order, of the forms linked
    source TEXT NOT NULL,
    seed INTEGER NOT NULL DEFAULT 0,
    in_sitemap INTEGER NOT NULL DEFAULT 0,
    lastmod TEXT,
    clicks INTEGER NOT NULL,        -- clicks on the way it was found; not the shortest way
    hops INTEGER NOT NULL DEFAULT 0 -- redirects in a row on the way it was found
);
CREATE TABLE IF NOT EXISTS known (
    url_id INTEGER PRIMARY KEY, state TEXT NOT NULL, etag TEXT, last_modified TEXT,
    content_type TEXT, body_sha TEXT
);
CREATE TABLE IF NOT EXISTS fetches (
    url_id INTEGER PRIMARY KEY,
    outcome TEXT NOT NULL, reason TEXT, status INTEGER, etag TEXT, last_modified TEXT,
    content_type TEXT, final_url TEXT, target_id INTEGER, body_sha TEXT,
    body_bytes INTEGER, encoding TEXT, language TEXT, title TEXT,
    content_hash TEXT, words INTEGER, canonical_key TEXT, refresh_id INTEGER,
    fetched_at REAL NOT NULL, attempts INTEGER NOT NULL, wire_bytes INTEGER NOT NULL
);
CREATE TABLE IF NOT EXISTS outlinks (url_id INTEGER PRIMARY KEY, targets BLOB NOT NULL);
CREATE TABLE IF NOT EXISTS bodies (sha TEXT PRIMARY KEY, coding TEXT NOT NULL, data BLOB NOT NULL,
    content_type TEXT, fetched_at REAL NOT NULL);
CREATE TABLE IF NOT EXISTS notes (at REAL NOT NULL, kind TEXT NOT NULL, subject TEXT NOT NULL,
    detail TEXT NOT NULL);
"""


class JournalError(SitequestError):
    """The journal cannot be read or belongs to another kind of crawl."""


@dataclass(frozen=True)
class Todo:
    """A URL to fetch, with what the parent snapshot knows of it (``state`` is None for a new URL).

    ``clicks`` and ``hops`` are those of the way it was found; ``final_url`` is set while a redirect
    to another form of the same key is followed.
    """

    id: int
    url: str
    clicks: int
    hops: int
    seed: int
    state: str | None
    etag: str | None
    last_modified: str | None
    body_sha: str | None
    final_url: str | None = None


@dataclass(frozen=True)
class Fetch:
    """The outcome of one URL; the columns of ``fetches``.

    ``fetched_at`` is seconds since 1970. ``final_url`` is set when the answer came from another
    form of the same key. ``wire_bytes`` counts the body as sent.
    """

    url_id: int
    outcome: Outcome
    fetched_at: float
    reason: str | None = None
    status: int | None = None
    etag: str | None = None
    last_modified: str | None = None
    content_type: str | None = None
    final_url: str | None = None
    target_id: int | None = None
    body_sha: str | None = None
    body_bytes: int | None = None
    encoding: str | None = None
    language: str | None = None
    title: str | None = None
    content_hash: str | None = None
    words: int | None = None
    canonical_key: str | None = None
    refresh_id: int | None = None
    attempts: int = 1
    wire_bytes: int = 0


@dataclass(frozen=True)
class Body:
    """A body as kept in the journal: ``data`` is gzip or plain (``coding``)."""

    sha: str
    coding: Literal["gzip", "plain"]
    data: bytes
    content_type: str | None
    fetched_at: float

    def plain(self) -> bytes:
        """Return the decoded body."""
        return zlib.decompress(self.data, 31) if self.coding == "gzip" else self.data


_FETCH_COLUMNS = tuple(field.name for field in fields(Fetch))
_INSERT_FETCH = (
    f"INSERT OR REPLACE INTO fetches ({', '.join(_FETCH_COLUMNS)}) "  # noqa: S608  our own names
    f"VALUES ({', '.join('?' * len(_FETCH_COLUMNS))})"
)
_TODO = """
SELECT u.id, u.url, u.clicks, u.hops, u.seed, k.state, k.etag, k.last_modified, k.body_sha
FROM urls u LEFT JOIN known k ON k.url_id = u.id LEFT JOIN fetches f ON f.url_id = u.id
WHERE f.url_id IS NULL AND u.id > ? ORDER BY u.id LIMIT ?
"""
# Shortest first, then by code point: the same whatever order the pages came in.
_BETTER = (
    "UPDATE urls SET best_url = ?1 WHERE id = ?2 AND (length(?1) < length(best_url) "
    "OR (length(?1) = length(best_url) AND ?1 < best_url))"
)


class Journal:
    """An open journal. Not shared between threads; a reader may open it while a crawl writes."""

    def __init__(self, path: Path) -> None:
        self.path = path
        path.parent.mkdir(parents=True, exist_ok=True)
        try:
            self._db = sqlite3.connect(path, isolation_level=None, timeout=30)
            self._db.execute("PRAGMA journal_mode=WAL")
            self._db.execute("PRAGMA synchronous=NORMAL")
            self._db.executescript(_SCHEMA)
        except sqlite3.DatabaseError as error:
            raise JournalError(
                f"The crawl journal {path} cannot be opened: {error}.",
                "Delete the file; the crawl starts anew.",
            ) from error
        found = self.meta("version")
        if found is None:
            self.set_meta("version", str(VERSION))
        elif found != str(VERSION):
            self.close()
            raise JournalError(
                f"The crawl journal {path} has version {found}; this code reads {VERSION}.",
                "Delete the file; the crawl starts anew.",
            )

    def close(self) -> None:
        """Close the file."""
        self._db.close()

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    # -- meta and notes ------------------------------------------------------------------------

    def meta(self, key: str) -> str | None:
        """Return a value of ``meta``, None when it is not set."""
        row = self._db.execute("SELECT value FROM meta WHERE key = ?", (key,)).fetchone()
        return None if row is None else str(row[0])

    def set_meta(self, key: str, value: str) -> None:
        """Set a value of ``meta``."""
        self._db.execute("INSERT OR REPLACE INTO meta VALUES (?, ?)", (key, value))

    def note(self, at: float, kind: str, subject: str, detail: str) -> None:
        """Keep what an auditor will ask for: a robots.txt, a sitemap, a pause, a redirect out."""
        self._db.execute("INSERT INTO notes VALUES (?, ?, ?, ?)", (at, kind, subject, detail))

    def notes(self, kind: str) -> list[tuple[str, str]]:
        """Return (subject, detail) of the notes of one kind, oldest first."""
        query = "SELECT subject, detail FROM notes WHERE kind = ? ORDER BY at, rowid"
        return list(self._db.execute(query, (kind,)))

    # -- the frontier --------------------------------------------------------------------------

    def begin(self) -> None:
        """Open a transaction; everything until `commit` is kept together or not at all."""
        self._db.execute("BEGIN IMMEDIATE")

    def commit(self) -> None:
        """Keep the transaction."""
        self._db.execute("COMMIT")

    def add_url(self, key: str, url: str, source: Source, *, clicks: int = 0, hops: int = 0) -> int:
        """Return the id of ``key``; a new one joins the frontier with ``url`` to be fetched."""
        row = self._db.execute("SELECT id, best_url FROM urls WHERE key = ?", (key,)).fetchone()
        if row is None:
            cursor = self._db.execute(
                "INSERT INTO urls (key, url, best_url, source, clicks, hops) VALUES (?,?,?,?,?,?)",
                (key, url, url, source, clicks, hops),
            )
            return int(cursor.lastrowid or 0)
        if row[1] != url:
            self._db.execute(_BETTER, (url, row[0]))
        return int(row[0])

    def mark_seed(self, url_id: int) -> None:
        """Say that the URL is a seed."""
        self._db.execute("UPDATE urls SET seed = 1 WHERE id = ?", (url_id,))

    def mark_sitemap(self, url_id: int, lastmod: str | None) -> None:
        """Say that a sitemap of this crawl lists the URL."""
        self._db.execute(
            "UPDATE urls SET in_sitemap = 1, lastmod = coalesce(?, lastmod) WHERE id = ?",
            (lastmod, url_id),
        )

    def add_known(self, rows: Iterable[Sequence[object]]) -> None:
        """Insert rows of ``known`` (its columns in order)."""
        self._db.executemany("INSERT OR REPLACE INTO known VALUES (?, ?, ?, ?, ?, ?)", rows)

    def todo(self, after: int, limit: int) -> list[Todo]:
        """Return URLs without outcome in order of discovery, ids above ``after``."""
        rows = self._db.execute(_TODO, (after, limit))
        return [Todo(*row) for row in rows]

    def count(self, table: Literal["urls", "fetches", "bodies", "known"]) -> int:
        """Return the number of rows."""
        return int(self._db.execute(f"SELECT count(*) FROM {table}").fetchone()[0])  # noqa: S608

    def outcomes(self) -> dict[str, int]:
        """Return the number of URLs by outcome; ``pending`` are those without one."""
        rows = self._db.execute("SELECT outcome, count(*) FROM fetches GROUP BY outcome")
        counts = {str(outcome): int(n) for outcome, n in rows}
        pending = self.count("urls") - sum(counts.values())
        return counts | ({"pending": pending} if pending else {})

    def reasons(self) -> dict[str, str]:
        """Return, by outcome, its commonest reasons in words, at most three."""
        query = (
            "SELECT outcome, group_concat(reason, ', ') FROM (SELECT outcome, reason, "
            "row_number() OVER (PARTITION BY outcome ORDER BY count(*) DESC, reason) AS rank "
            "FROM fetches WHERE reason IS NOT NULL GROUP BY outcome, reason) "
            "WHERE rank <= 3 GROUP BY outcome"
        )
        return {str(outcome): str(reasons) for outcome, reasons in self._db.execute(query)}

    # -- outcomes ------------------------------------------------------------------------------

    def record(self, fetch: Fetch, body: Body | None = None, links: Sequence[int] = ()) -> None:
        """Keep the outcome of a URL with its body and links; call within a transaction."""
        self._db.execute(_INSERT_FETCH, [getattr(fetch, name) for name in _FETCH_COLUMNS])
        if body is not None:
            self._db.execute(
                "INSERT OR IGNORE INTO bodies VALUES (?, ?, ?, ?, ?)",
                (body.sha, body.coding, body.data, body.content_type, body.fetched_at),
            )
        if links:
            self.set_links(fetch.url_id, links)

    def set_links(self, url_id: int, links: Sequence[int]) -> None:
        """Keep the ids that a page links to."""
        packed = array("i", links)
        if sys.byteorder == "big":
            packed.byteswap()
        self._db.execute(
            "INSERT OR REPLACE INTO outlinks VALUES (?, ?)", (url_id, packed.tobytes())
        )

    def unread(self) -> list[tuple[int, str, str | None, int, str]]:
        """Return content that stands from the parent and whose links were not read yet.

        Rows: (url id, body sha256, content type with charset, clicks, public URL of the content).
        """
        return list(
            self._db.execute(
                "SELECT f.url_id, k.body_sha, k.content_type, u.clicks, "
                "coalesce(f.final_url, u.url) "
                "FROM fetches f JOIN known k ON k.url_id = f.url_id "
                "JOIN urls u ON u.id = f.url_id LEFT JOIN outlinks o ON o.url_id = f.url_id "
                "WHERE f.outcome IN ('unchanged', 'unreachable') AND k.body_sha IS NOT NULL "
                "AND o.url_id IS NULL ORDER BY f.url_id"
            )
        )

    def reading(self, url_id: int, facts: dict[str, object]) -> None:
        """Add the digest's facts to an outcome whose body was read from the store."""
        names = ", ".join(f"{name} = ?" for name in facts)
        self._db.execute(
            f"UPDATE fetches SET {names} WHERE url_id = ?",  # noqa: S608  our own column names
            [*facts.values(), url_id],
        )

    # -- reading it all ------------------------------------------------------------------------

    def frame(self) -> pl.DataFrame:
        """Return one row per URL with its outcome, in order of id.

        Columns: id, key, best_url, seed, listed (in a sitemap), then those of `Fetch`, with
        ``outcome_reason``, ``asked_at`` (seconds) and ``body_sha256`` for reason, fetched_at and
        body_sha; all null without an outcome.
        """
        import polars as pl

        schema = {
            "id": pl.Int64, "key": pl.String, "best_url": pl.String, "seed": pl.Boolean,
            "listed": pl.Boolean, "outcome": pl.String, "outcome_reason": pl.String,
            "status": pl.Int16, "etag": pl.String, "last_modified": pl.String,
            "content_type": pl.String, "final_url": pl.String, "target_id": pl.Int64,
            "body_sha256": pl.String, "body_bytes": pl.Int64, "encoding": pl.String,
            "language": pl.String, "title": pl.String, "content_hash": pl.String,
            "words": pl.Int64, "canonical_key": pl.String, "refresh_id": pl.Int64,
            "asked_at": pl.Float64,
        }  # fmt: skip
        rows = self._db.execute(
            "SELECT u.id, u.key, u.best_url, u.seed, u.in_sitemap, f.outcome, f.reason, f.status, "
            "f.etag, f.last_modified, f.content_type, f.final_url, f.target_id, f.body_sha, "
            "f.body_bytes, f.encoding, f.language, f.title, f.content_hash, f.words, "
            "f.canonical_key, f.refresh_id, f.fetched_at "
            "FROM urls u LEFT JOIN fetches f ON f.url_id = u.id ORDER BY u.id"
        ).fetchall()
        frame = pl.DataFrame(
            rows, schema=schema | {"seed": pl.Int8, "listed": pl.Int8}, orient="row"
        )
        return frame.with_columns(pl.col("seed", "listed").cast(pl.Boolean))

    def links(self) -> Iterator[tuple[int, npt.NDArray[np.int64]]]:
        """Yield (url id, ids it links to) of every page that was read, by id."""
        import numpy as np

        for url_id, packed in self._db.execute("SELECT * FROM outlinks ORDER BY url_id"):
            yield url_id, np.frombuffer(packed, dtype="<i4").astype(np.int64)

    # -- bodies --------------------------------------------------------------------------------

    def bodies(self) -> Iterator[Body]:
        """Yield the bodies kept here, by address."""
        with closing(self._db.cursor()) as cursor:
            for row in cursor.execute("SELECT * FROM bodies ORDER BY sha"):
                yield Body(*row)

    def drop_bodies(self) -> None:
        """Delete the bodies (they are in the store now) and give their space back."""
        self._db.execute("DELETE FROM bodies")
        self._db.execute("VACUUM")
        self._db.execute("PRAGMA wal_checkpoint(TRUNCATE)")
