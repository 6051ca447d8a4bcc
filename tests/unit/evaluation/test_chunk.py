"""The plain baselines: text, cutting, retrieval, and what they are built from."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

import polars as pl
import pytest

from evaluation.matching import squeeze
from evaluation.systems.base import first_passage
from evaluation.systems.chunk import CHUNK_WORDS, ChunkSystem, cut_page, decode, page_text
from retrieval.models.base import ModelInputError
from retrieval.models.config import ModelsConfig
from retrieval.models.hashing import HashEmbedder
from retrieval.models.load import load_embedder
from retrieval.snapshot.reader import Snapshot
from tests.unit.checks.small_snapshot import frames, page, write_snapshot

TABLE = """<html><head><title>T</title><style>x{}</style></head><body><nav>Menu Home</nav>
<main><h1>Courses</h1><p>These are the courses of the department that are taught this year, and a
student may take any of them in the order that suits best.</p>
<table><tr><th>Code</th><th>Units</th></tr><tr><td>ART 1</td><td>3</td></tr></table>
<ul><li>One item of the list</li><li>Another item</li></ul></main>
<script>var hidden = 1;</script></body></html>"""


def test_main_text_has_the_cells_without_marks() -> None:
    text, fell_back = page_text(TABLE)
    assert not fell_back
    assert squeeze("ART 13") in squeeze(text)
    assert "|" not in text
    assert "\n- " not in text
    assert "hidden" not in text


def test_all_text_has_everything_visible() -> None:
    text, fell_back = page_text(TABLE, "all")
    assert not fell_back
    assert "Menu Home" in text
    assert "hidden" not in text


def test_a_page_without_main_text_falls_back_and_says_so() -> None:
    text, fell_back = page_text("<html><body><footer>Tel 1</footer></body></html>")
    assert (squeeze(text), fell_back) == ("Tel1", True)
    assert page_text("") == ("", True)


def test_decoding_an_unknown_label() -> None:
    assert decode("é".encode("windows-1252"), "windows-1252") == "é"
    assert decode("é".encode(), "x-user-defined") == "é"
    assert decode(b"a", None) == "a"


def test_chunks_have_200_words_and_lose_nothing() -> None:
    words = [f"w{i}" for i in range(2 * CHUNK_WORDS + 7)]
    chunks = list(cut_page("/p", " ".join(words), HashEmbedder("h", 8)))
    assert [len(chunk.text.split()) for chunk in chunks] == [CHUNK_WORDS, CHUNK_WORDS, 7]
    assert " ".join(chunk.text for chunk in chunks).split() == words
    assert [chunk.ordinal for chunk in chunks] == [0, 1, 2]
    assert list(cut_page("/p", " \n", HashEmbedder("h", 8))) == []


def test_a_chunk_that_the_model_cannot_read_is_halved() -> None:
    embedder = load_embedder(ModelsConfig().embedder)
    codes = " ".join(f"X{i}-{i * 7919}/{i * 104729}" for i in range(CHUNK_WORDS))
    with pytest.raises(ModelInputError):
        embedder.embed([codes], kind="passage")
    chunks = list(cut_page("/p", codes, embedder))
    assert len(chunks) > 1
    assert max(chunk.tokens for chunk in chunks) <= embedder.max_tokens
    assert " ".join(chunk.text for chunk in chunks) == codes
    endless = list(cut_page("/p", "q" * 3000, embedder))
    assert "".join(chunk.text for chunk in endless) == "q" * 3000


class Stored:
    """Bodies of the small snapshot's pages."""

    def __init__(self, bodies: dict[str, bytes]) -> None:
        self._bodies = bodies

    def iter(self, shas: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        yield from ((sha, self._bodies[sha]) for sha in shas)


@pytest.fixture
def built(tmp_path: Path) -> tuple[Snapshot, Stored]:
    tables = frames()
    snapshot = write_snapshot(tmp_path / "s", tables)
    shas = tables["pages"].filter(pl.col("state") == "live")["body_sha256"].unique().to_list()
    stored = dict.fromkeys(shas, b"<p>nothing of note here</p>")
    stored[page(3)["body_sha256"]] = b"<p>The otters are fed at noon by the keeper of the pond.</p>"
    return snapshot, Stored(stored)


def test_the_baseline_finds_the_page(built: tuple[Snapshot, Stored]) -> None:
    snapshot, bodies = built
    system = ChunkSystem.build(snapshot, bodies, load_embedder(ModelsConfig().embedder))
    assert system.name == "chunk"
    assert (system.stats.pages, system.stats.chunks) == (8, 8)
    assert system.stats.embedding.texts == 2  # seven pages say the same
    run = system.run("When are the otters fed?", 3)
    assert len(run.passages) == 3
    assert run.passages[0].page == "https://x.test/p3"
    assert "noon" in run.answer.text
    assert run.answer.reader_tokens == sum(p.tokens for p in run.passages)
    assert not run.answer.abstained


def test_a_site_without_text(tmp_path: Path) -> None:
    tables = frames()
    tables["pages"] = tables["pages"].with_columns(state=pl.lit("gone"))
    snapshot = write_snapshot(tmp_path / "s", tables)
    system = ChunkSystem.build(snapshot, Stored({}), HashEmbedder("h", 8), text="all")
    assert system.name == "chunk-all"
    assert system.answer("Anything?").abstained
    assert first_passage("?", []).abstained
