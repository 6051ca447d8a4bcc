"""What every embedder and reranker promises, and how a model says that it cannot be used."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from retrieval.errors import BadInputError, SitequestError

TextKind = Literal["query", "passage"]
Floats = NDArray[np.float32]


class ModelError(SitequestError):
    """A model is missing, is not the one that was pinned, or cannot be loaded."""


class ModelInputError(BadInputError):
    """A text is longer than the model takes: it would be truncated, and never silently."""


class Embedder(Protocol):
    """Texts to unit vectors. A vector is a function of its text alone: never of batch-mates."""

    name: str
    revision: str
    sha256: str
    dim: int
    max_tokens: int
    """Most tokens of a passage, special tokens not counted (as `count_tokens` counts)."""

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, special tokens and query prefix not counted."""
        ...

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Floats:
        """Return float32 [n, dim], rows of unit length, in the order of ``texts``.

        Raises ModelInputError when a text (with the query prefix) has more than ``max_tokens``.
        """
        ...


class Reranker(Protocol):
    """Pairs of query and passage to scores; a score is a function of its pair alone."""

    name: str
    revision: str
    sha256: str

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """Return float32 [n] logits, higher is better.

        A passage is cut knowingly at the pair's most tokens, a query at half of them.
        """
        ...


def too_long(text: str, tokens: int, most: int) -> ModelInputError:
    """Return the error for a text of ``tokens`` tokens where a model takes ``most``."""
    start = " ".join(text.split())[:60]
    return ModelInputError(
        f"A text of {tokens} tokens is longer than the {most} the model takes: “{start}…”.",
        "Shorten the question, or let smaller blocks be made (parsing: max_words).",
    )
