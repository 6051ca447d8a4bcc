"""The plain baselines: page text, 200-word chunks, the same embedder, no structure.

`chunk` takes each page's main text from trafilatura (tables and lists included, recall favoured,
its table and list marks removed, since no page has them); a page for which it yields nothing is
taken as its whole visible text, and counted. `chunk-all` takes the whole visible text of every
page: main-text extraction loses headings that carry facts (the course titles of the Berkeley
catalogue), and a comparison should not rest on that loss alone.

Chunks are 200 words, one after the other, without overlap; retrieval is exact cosine over all of
them, no BM25, no reranker.
"""

from __future__ import annotations

import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Literal, Protocol

import numpy as np

from evaluation.cache import EmbedCost, VectorCache, embed_cached
from evaluation.matching import Passage
from evaluation.systems.base import Reader, SystemAnswer, SystemRun, first_passage
from retrieval.models.base import Embedder, Floats
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.states import HAS_CONTENT

CHUNK_WORDS = 200
TextSource = Literal["main", "all"]
_NAMES: dict[TextSource, str] = {"main": "chunk", "all": "chunk-all"}
_HIDDEN = "script, style, noscript, template, head"
_TABLE_RULE = re.compile(r"^\|[-| ]*\|?$", re.MULTILINE)
_ROW = re.compile(r"^\|.*$", re.MULTILINE)
_ITEM = re.compile(r"^\s*- ", re.MULTILINE)


class BodyReader(Protocol):
    """The part of retrieval.snapshot.bodies' Bodies that is used here."""

    def iter(self, shas: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (sha, body) in any order."""


@dataclass(frozen=True)
class ChunkBuild:
    """What building the baseline took: pages, fallbacks, chunks and the embedding cost."""

    pages: int
    fallback_pages: int
    chunks: int
    extract_seconds: float
    embedding: EmbedCost


class ChunkSystem:
    """A baseline over one snapshot; use `build`."""

    def __init__(
        self,
        name: str,
        passages: Sequence[Passage],
        vectors: Floats,
        embedder: Embedder,
        build: ChunkBuild,
        reader: Reader,
    ) -> None:
        self.name = name
        self._passages = passages
        self._vectors = vectors
        self._embedder = embedder
        self._reader = reader
        self.stats = build

    @classmethod
    def build(
        cls,
        snapshot: Snapshot,
        bodies: BodyReader,
        embedder: Embedder,
        *,
        text: TextSource = "main",
        cache: VectorCache | None = None,
        reader: Reader = first_passage,
        progress: Callable[[str], None] | None = None,
    ) -> ChunkSystem:
        """Extract, cut and embed the live pages of ``snapshot``; nothing is written to it."""
        began = time.perf_counter()
        passages, pages, fallbacks = _passages(snapshot, bodies, embedder, text)
        seconds = time.perf_counter() - began
        if progress:
            progress(f"{_NAMES[text]}: {len(passages)} chunks of {pages} pages")
        vectors, cost = embed_cached(embedder, [p.text for p in passages], cache)
        return cls(
            _NAMES[text],
            passages,
            vectors,
            embedder,
            ChunkBuild(pages, fallbacks, len(passages), seconds, cost),
            reader,
        )

    def retrieve(self, question: str, k: int) -> list[Passage]:
        """Return the ``k`` chunks nearest to the question; ties go to the earlier chunk."""
        if not self._passages:
            return []
        scores = self._vectors @ self._embedder.embed([question], kind="query")[0]
        order = np.argsort(-scores, kind="stable")[:k]
        return [self._passages[int(row)] for row in order]

    def answer(self, question: str) -> SystemAnswer:
        """Answer from the ten nearest chunks."""
        return self.run(question, 10).answer

    def run(self, question: str, k: int) -> SystemRun:
        """Retrieve ``k`` chunks and let the reader answer from them."""
        began = time.perf_counter()
        passages = self.retrieve(question, k)
        answer = self._reader(question, passages)
        seconds = time.perf_counter() - began
        return SystemRun(
            passages,
            SystemAnswer(
                answer.text,
                answer.abstained,
                answer.reader_tokens,
                seconds,
                confidence=answer.confidence,
            ),
        )


def _passages(
    snapshot: Snapshot, bodies: BodyReader, embedder: Embedder, source: TextSource
) -> tuple[list[Passage], int, int]:
    table = snapshot.table("pages", ["page_id", "url", "state", "body_sha256", "encoding"])
    live = table.filter(HAS_CONTENT).rows(named=True)
    encodings = {row["body_sha256"]: row["encoding"] for row in live}
    texts: dict[str, str] = {}
    fallbacks = 0
    for sha, body in bodies.iter(sorted(encodings)):
        text, fell_back = page_text(decode(body, encodings[sha]), source)
        texts[sha] = text
        fallbacks += fell_back
    passages = [
        passage
        for row in sorted(live, key=lambda row: str(row["page_id"]))
        for passage in cut_page(row["url"], texts[row["body_sha256"]], embedder)
    ]
    return passages, len(live), fallbacks


def decode(body: bytes, encoding: str | None) -> str:
    """Decode a body with the encoding the snapshot recorded; UTF-8 when it recorded none."""
    try:
        return body.decode(encoding or "utf-8", errors="replace")
    except LookupError:  # a WHATWG label that Python does not know
        return body.decode("utf-8", errors="replace")


def page_text(html: str, source: TextSource = "main") -> tuple[str, bool]:
    """Return the text of a page and whether visible text had to stand in for main text."""
    main = _main_text(html) if source == "main" else ""
    return (main, False) if main else (_visible_text(html), source == "main")


def _main_text(html: str) -> str:
    import trafilatura

    text = trafilatura.extract(
        html, include_comments=False, include_tables=True, favor_recall=True, output_format="txt"
    )
    marked = _TABLE_RULE.sub("", str(text or ""))
    return _ITEM.sub("", _ROW.sub(lambda row: row[0].replace("|", " "), marked)).strip()


def _visible_text(html: str) -> str:
    from selectolax.lexbor import LexborHTMLParser

    tree = LexborHTMLParser(html)
    for node in tree.css(_HIDDEN):
        node.decompose()
    return tree.root.text(separator=" ") if tree.root is not None else ""


def cut_page(url: str, text: str, embedder: Embedder) -> Iterable[Passage]:
    """Cut one page's text into chunks of `CHUNK_WORDS` words, numbered in order.

    A chunk of more tokens than the model reads (long codes, other scripts) is halved until it
    fits, so that nothing is embedded truncated.
    """
    words = text.split()
    pieces = [words[i : i + CHUNK_WORDS] for i in range(0, len(words), CHUNK_WORDS)]
    chunks = [chunk for piece in pieces for chunk in _fitting(piece, embedder)]
    counts = embedder.count_tokens(chunks) if chunks else []
    for ordinal, (chunk, tokens) in enumerate(zip(chunks, counts, strict=True)):
        yield Passage(page=url, heading_path=(), text=chunk, tokens=tokens, ordinal=ordinal)


def _fitting(words: list[str], embedder: Embedder) -> list[str]:
    text = " ".join(words)
    limit = embedder.max_tokens
    if embedder.count_tokens([text])[0] <= limit:
        return [text]
    if len(words) == 1:
        # One endless "word": cut by characters; a token is at least one character.
        return [text[i : i + limit] for i in range(0, len(text), limit)]
    middle = len(words) // 2
    return [*_fitting(words[:middle], embedder), *_fitting(words[middle:], embedder)]
