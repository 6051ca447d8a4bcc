"""The memory-mapped mirror: rows of the kept blocks, and the vectors of their embedded strings.

Files of ``search/`` (written by `assets.embedding.search`): ``vectors.npy`` float32 [inputs, dim]
of unit length, sorted by input hash; ``blocks.arrow``, ``pages.arrow``, ``texts.arrow``,
``headings.arrow`` and ``inputs.arrow`` (the hashes of the vectors' rows) in Arrow IPC,
uncompressed, one batch each, pointing at each other by row. Block rows are sorted by page id and
ordinal: a block's row is its position here. Opening maps the files and reads no column.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
from numpy.typing import NDArray

from retrieval.errors import SitequestError
from retrieval.index.view import BlockView

VERSION = "1"
VECTORS_FILE = "vectors.npy"
ROW_FILES = ("blocks", "pages", "texts", "headings", "inputs")
Ints = NDArray[np.int32]
Floats = NDArray[np.float32]

BLOCKS = pa.schema(
    [
        ("block_id", pa.string()),
        ("lineage_id", pa.string()),
        ("page", pa.int32()),
        ("ordinal", pa.int32()),
        ("heading", pa.int32()),
        ("kind", pa.string()),
        ("text", pa.int32()),
        ("context", pa.string()),
        ("input", pa.int32()),
        ("path_input", pa.int32()),  # the text input's where a block has no path input
    ]
)
PAGES = pa.schema(
    [
        ("page_id", pa.string()),
        ("url", pa.string()),
        ("title", pa.string()),
        ("fetched_at", pa.timestamp("us", tz="UTC")),
    ]
)
TEXTS = pa.schema([("text", pa.string()), ("words", pa.int32())])
HEADINGS = pa.schema([("path", pa.list_(pa.string()))])
INPUTS = pa.schema([("input_hash", pa.string())])
SCHEMAS = dict(zip(ROW_FILES, (BLOCKS, PAGES, TEXTS, HEADINGS, INPUTS), strict=True))


class SearchFilesError(SitequestError):
    """The search files of a snapshot are missing or unreadable."""

    def __init__(self, directory: Path, why: object) -> None:
        super().__init__(
            f"The search files in {directory} cannot be used: {why}.",
            "Sync again, or roll back to another snapshot.",
        )


def top_k(scores: Floats, k: int) -> NDArray[np.int64]:
    """Return the positions of the ``k`` greatest scores, best first, ties by position."""
    if k <= 0:
        return np.empty(0, dtype=np.int64)
    if k < len(scores):
        least = np.partition(scores, len(scores) - k)[len(scores) - k]
        found = np.flatnonzero(scores >= least)
    else:
        found = np.arange(len(scores))
    return found[np.lexsort((found, -scores[found]))][:k]


def map_table(directory: Path, name: str) -> pa.RecordBatch:
    """Map ``<name>.arrow`` of a search directory; raises SearchFilesError."""
    path = directory / f"{name}.arrow"
    try:
        reader = pa.ipc.open_file(pa.memory_map(str(path)))
        batch = reader.get_batch(0)
    except (OSError, pa.ArrowInvalid) as error:
        raise SearchFilesError(directory, error) from error
    if not batch.schema.equals(SCHEMAS[name], check_metadata=False):
        raise SearchFilesError(directory, f"{path.name} has another schema")
    return batch


class Mirror:
    """Rows and vectors of one snapshot, mapped."""

    def __init__(self, directory: Path) -> None:
        tables = {name: map_table(directory, name) for name in ROW_FILES}
        self._blocks, self._pages = tables["blocks"], tables["pages"]
        self._texts, self._headings = tables["texts"], tables["headings"]
        try:
            self.vectors: Floats = np.load(directory / VECTORS_FILE, mmap_mode="r")
        except (OSError, ValueError) as error:
            raise SearchFilesError(directory, error) from error
        self.rows: int = self._blocks.num_rows
        self.input_hashes: pa.StringArray = tables["inputs"]["input_hash"]
        self.block_ids: pa.StringArray = self._blocks["block_id"]
        self.lineage_ids: pa.StringArray = self._blocks["lineage_id"]
        self.page_ids: pa.StringArray = self._pages["page_id"]
        self.page_of: Ints = self._ints("page")
        self.text_of: Ints = self._ints("text")
        self.input_of: Ints = self._ints("input")
        self.path_of: Ints = self._ints("path_input")

    def _ints(self, column: str) -> Ints:
        values: Ints = self._blocks[column].to_numpy()
        return values

    @property
    def words_of(self) -> Ints:
        """Return the words of each block's text [rows]."""
        words: Ints = self._texts["words"].to_numpy()
        return words[self.text_of]

    def block(self, row: int) -> BlockView:
        """Return block ``row``; raises IndexError when there is no such row."""
        if not 0 <= row < self.rows:
            raise IndexError(f"block row {row} of {self.rows}")
        page, text = int(self.page_of[row]), int(self.text_of[row])

        def of(table: pa.RecordBatch, column: str, position: int) -> Any:
            return table[column][position].as_py()

        return BlockView(
            row=row,
            block_id=of(self._blocks, "block_id", row),
            lineage_id=of(self._blocks, "lineage_id", row),
            page_id=of(self._pages, "page_id", page),
            url=of(self._pages, "url", page),
            title=of(self._pages, "title", page) or "",
            heading_path=of(self._headings, "path", of(self._blocks, "heading", row)),
            kind=of(self._blocks, "kind", row),
            text=of(self._texts, "text", text),
            context=of(self._blocks, "context", row),
            words=of(self._texts, "words", text),
            ordinal=of(self._blocks, "ordinal", row),
            fetched_at=of(self._pages, "fetched_at", page),
        )
