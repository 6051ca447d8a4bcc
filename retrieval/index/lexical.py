"""BM25 over the kept blocks, with every posting's score computed when the index is built.

A document is a block: its text and context, its headings and its page title, each field's term
counts weighted (`FIELD_WEIGHTS`). Score of term t in document d, in Lucene's form (Robertson and
Zaragoza 2009, without the constant factor k1 + 1):

    ln(1 + (N − df + 0.5) / (df + 0.5)) · tf / (tf + k1 · (1 − b + b · |d| / mean |d|))

Files in ``search/``: ``terms.arrow`` sorted stems; ``bm25_starts.npy`` int64 [terms + 1];
``bm25_rows.npy`` int32 and ``bm25_scores.npy`` float32 [postings], sorted by term and block row.
A query maps them, touches its own terms' postings and adds the scores up.

The same polars expression makes tokens for documents and for queries: lower case, diacritics
folded, words of letters and digits (a CJK character is a word), stop words left out, then the
Snowball English stem of each distinct word.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import polars as pl
import pyarrow as pa
from numpy.typing import NDArray

from retrieval.index.mirror import SearchFilesError, top_k

VERSION = "2"
K1 = 1.2
B = 0.75
# Chosen on 125 questions of our own over two sites (mean reciprocal rank 0.677 and 0.860, with
# headings 0.5 and titles 0 0.599 and 0.837). Multiples of 0.5 add up exactly in any order.
FIELD_WEIGHTS = {"text": 1.0, "context": 0.5, "headings": 1.5, "title": 1.0}
TERMS_FILE = "terms.arrow"
ARRAYS = ("starts", "rows", "scores")

_STOP = (
    "a about above after again against all also am an and any are as at be because been before"
    " being below between both but by can could did do does doing down during each few for from"
    " further had has have having he her here hers him his how i if in into is it its just me more"
    " most my no nor not of off on once only or other our out over own s same she should so some"
    " such t than that the their them then there these they this those through to too under until"
    " up very was we were what when where which while who whom why will with would you your"
)
STOP_WORDS = frozenset(_STOP.split())
_CJK = r"\p{Han}\p{Hiragana}\p{Katakana}"
_WORD = rf"[{_CJK}]|[[\p{{L}}\p{{N}}]--[{_CJK}]]+"


def words(texts: pl.Expr) -> pl.Expr:
    """Return an expression of the list of words of each text, stop words included."""
    folded = texts.str.to_lowercase().str.normalize("NFKD").str.replace_all(r"\p{M}", "")
    return folded.str.extract_all(_WORD)


def stem(vocabulary: Sequence[str]) -> list[str]:
    """Return the Snowball English stem of each word."""
    import Stemmer

    stems: list[str] = Stemmer.Stemmer("english").stemWords(list(vocabulary))
    return stems


def query_terms(text: str) -> Counter[str]:
    """Return the stems of a query with their counts."""
    frame = pl.DataFrame({"text": [text]}).select(words(pl.col("text")).alias("words"))
    found: list[str] = frame["words"][0].to_list()
    content = [word for word in found if word not in STOP_WORDS]
    return Counter(stem(content))


class Lexical:
    """The BM25 index of one snapshot, mapped."""

    def __init__(self, directory: Path, rows: int) -> None:
        try:
            reader = pa.ipc.open_file(pa.memory_map(str(directory / TERMS_FILE)))
            self._terms = reader.get_batch(0)["term"]
            self._starts, self._rows, self._scores = (
                np.load(directory / f"bm25_{name}.npy", mmap_mode="r") for name in ARRAYS
            )
        except (OSError, ValueError, pa.ArrowInvalid) as error:
            raise SearchFilesError(directory, error) from error
        self._documents = rows

    def scores(self, query: str) -> NDArray[np.float32]:
        """Return the BM25 score of every block [rows]; 0 where no term occurs."""
        total = np.zeros(self._documents, dtype=np.float32)
        for term, count in sorted(query_terms(query).items()):
            position = self._find(term)
            if position is not None:
                part = slice(int(self._starts[position]), int(self._starts[position + 1]))
                total[self._rows[part]] += np.float32(count) * self._scores[part]
        return total

    def search(self, query: str, k: int) -> list[tuple[int, float]]:
        """Return (row, score) of the best ``k`` blocks that have a term, ties by row."""
        scores = self.scores(query)
        found = np.flatnonzero(scores)
        return [(int(found[i]), float(scores[found[i]])) for i in top_k(scores[found], k)]

    def document_frequency(self, word: str) -> int:
        """Return the blocks that have the stem of ``word``; all of them for a stop word.

        Of a string of several words the rarest counts.
        """
        terms = query_terms(word)
        if not terms:
            return self._documents
        counts = []
        for term in terms:
            at = self._find(term)
            counts.append(0 if at is None else int(self._starts[at + 1] - self._starts[at]))
        return min(counts)

    def _find(self, term: str) -> int | None:
        """Return the position of ``term`` by bisection: code point order is UTF-8 byte order."""
        terms = self._terms
        position = bisect_left(range(len(terms)), term, key=lambda i: terms[i].as_py())
        if position < len(terms) and terms[position].as_py() == term:
            return position
        return None
