"""Token counts by words against the tokenizer's own count of the whole text."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from retrieval.models import ModelsConfig, load_embedder
from retrieval.models.onnx import OnnxEmbedder

# White space and controls of every kind, marks that combine, scripts, the tokenizer's own tokens.
PIECES = (
    " ", "\n", "\t", "\r", "\x0b", "\x1c", "\x85", "\xa0", "\u2003", "\u200b", "\u3000", "\ufffd",
    "\u0301", "\u0308", "é", "İ", "Σ", "ß", "漢字", "한국", "ไทย", "🙂", "[SEP]", "[MASK]", "##s",
    "un", "believ", "able", "CS", "61A", "-", ".", "'", "x" * 101,
)  # fmt: skip
TEXT = st.lists(st.sampled_from(PIECES) | st.text(max_size=3), max_size=25).map("".join)


@pytest.fixture(scope="module")
def embedder() -> OnnxEmbedder:
    found = load_embedder(ModelsConfig().embedder)
    assert isinstance(found, OnnxEmbedder)
    return found


@given(texts=st.lists(TEXT, max_size=4))
def test_words_add_up_to_the_text(embedder: OnnxEmbedder, texts: list[str]) -> None:
    assert embedder.count_tokens(texts) == [len(ids) for ids in embedder._graph.encode(texts)]
