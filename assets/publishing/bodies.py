"""Adding raw bodies to the store: one part per crawl, only bodies not stored before."""

from __future__ import annotations

import os
from contextlib import suppress
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Self

import pyarrow as pa
import pyarrow.parquet as pq

from assets.publishing.files import fsync_dir, fsync_file, storage
from retrieval.snapshot.bodies import BODY_SCHEMA, Bodies
from retrieval.snapshot.ids import body_sha256
from retrieval.snapshot.layout import SitePaths

# A row group is what one `get` reads and one `iter` holds: about 14 HTML pages of 144 KB.
GROUP_BYTES = 2_000_000
GROUP_ROWS = 256


class BodyWriter:
    """Collects the new bodies of crawl ``crawl_id``; nothing is visible before `close`.

    As a context manager it closes on success and aborts on an exception. A writer killed halfway
    leaves a file with a leading dot, which no reader looks at and the next writer of the same crawl
    replaces.
    """

    def __init__(self, paths: SitePaths, crawl_id: str) -> None:
        self.dir = paths.bodies
        self.crawl_id = crawl_id
        self.added = 0
        self._seen = Bodies(self.dir).known()
        self._temporary = self.dir / f".{crawl_id}.tmp"
        self._writer: pq.ParquetWriter | None = None
        self._rows: list[tuple[str, bytes, str | None, datetime]] = []
        self._bytes = 0

    def add(
        self,
        sha: str,
        body: bytes,
        content_type: str | None = None,
        first_fetched: datetime | None = None,
    ) -> bool:
        """Store ``body`` under its sha256 unless it is known; return whether it was new.

        ``first_fetched`` defaults to now. Raises ValueError when ``sha`` is not the body's sha256,
        StorageError when the disk does not take it.
        """
        if sha in self._seen:
            return False
        if body_sha256(body) != sha:
            raise ValueError(f"body does not have sha256 {sha}")
        self._seen.add(sha)
        self._rows.append((sha, body, content_type, first_fetched or datetime.now(UTC)))
        self._bytes += len(body)
        self.added += 1
        if self._bytes >= GROUP_BYTES or len(self._rows) >= GROUP_ROWS:
            self._flush()
        return True

    def close(self) -> Path | None:
        """Make the new bodies durable and visible; return the part, None when nothing was new."""
        self._flush()
        if self._writer is None:
            return None
        with storage(self._temporary):
            self._writer.close()
            self._writer = None
            fsync_file(self._temporary)
            part = self._free_name()
            os.replace(self._temporary, part)
            fsync_dir(self.dir)
        return part

    def abort(self) -> None:
        """Forget what was added."""
        self._rows.clear()
        if self._writer is not None:
            # On a full disk the footer cannot be written either; the file goes in any case.
            with suppress(OSError):
                self._writer.close()
            self._writer = None
        self._temporary.unlink(missing_ok=True)

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        if kind is None:
            self.close()
        else:
            self.abort()

    def _flush(self) -> None:
        if not self._rows:
            return
        columns = [list(column) for column in zip(*self._rows, strict=True)]
        table = pa.table(columns, schema=BODY_SCHEMA)
        with storage(self._temporary):
            if self._writer is None:
                self.dir.mkdir(parents=True, exist_ok=True)
                self._writer = pq.ParquetWriter(
                    self._temporary, BODY_SCHEMA, compression="zstd", use_dictionary=False
                )
            self._writer.write_table(table, row_group_size=len(self._rows))
        self._rows.clear()
        self._bytes = 0

    def _free_name(self) -> Path:
        """Return the part's name; a crawl that is resumed after closing gets a second part."""
        part = self.dir / f"{self.crawl_id}.parquet"
        number = 2
        while part.exists():
            part = self.dir / f"{self.crawl_id}.{number}.parquet"
            number += 1
        return part
