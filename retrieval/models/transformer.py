"""Any bi- or cross-encoder of the sentence-transformers library, by directory, package or hub id.

Texts are run one at a time here as well: padding to the longest of a batch changes the last bits of
a float vector, and a vector must be a function of its text alone.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np

from retrieval.models.base import Floats, ModelError, TextKind, too_long
from retrieval.models.config import ModelSpec
from retrieval.models.onnx import PAIR_TOKENS
from retrieval.models.pins import package_dir, package_version, tree_sha256

CODE_VERSION = "st-single-1"
_WEIGHTS = {".safetensors", ".bin", ".onnx"}


def resolve(spec: ModelSpec) -> tuple[Path, str]:
    """Return the model's directory and revision.

    Tried in order: a directory, an installed package that has one inside, a hub id. Only the last
    may download, and only when a person named it.
    """
    given = spec.path or Path(spec.name)
    if given.is_dir():
        return given, spec.revision or "local"
    if spec.name.replace("-", "_").isidentifier():
        home = package_dir(spec.name.replace("-", "_"))
        inside = _model_below(home) if home else None
        if inside is not None:
            return inside, package_version(spec.name) or "unknown"
    return _from_hub(spec)


def _model_below(home: Path) -> Path | None:
    for pattern in ("config.json", "*/config.json", "*/*/config.json"):
        for file in sorted(home.glob(pattern)):
            if any(p.suffix in _WEIGHTS for p in file.parent.iterdir()):
                return file.parent
    return None


def _from_hub(spec: ModelSpec) -> tuple[Path, str]:
    from huggingface_hub import snapshot_download

    try:
        directory = Path(snapshot_download(spec.name, revision=spec.revision))
    except Exception as error:
        # The hub's client raises its own, the http client's and validation errors.
        raise ModelError(
            f"The model “{spec.name}” is neither a directory, nor an installed package that"
            f" carries one, nor to be had from the hub: {type(error).__name__}.",
            "Check the name and the network, or name a directory.",
        ) from error
    return directory, directory.name  # the commit


def weights_sha256(spec: ModelSpec, directory: Path) -> str:
    """Return the hash of the weights; raises ModelError if it is not the one the spec expects."""
    actual = tree_sha256(directory, lambda p: p.suffix in _WEIGHTS)
    if spec.sha256 and spec.sha256 != actual:
        raise ModelError(
            f"{spec.name}: the weights in {directory} have sha256 {actual}, not {spec.sha256}.",
            "Get the right files, or correct sha256 in the configuration.",
        )
    return actual


class TransformerEmbedder:
    """A SentenceTransformer on the CPU, unit length."""

    def __init__(self, spec: ModelSpec) -> None:
        directory, revision = resolve(spec)
        self.name = spec.name
        self.revision = f"{revision}+{CODE_VERSION}"
        self.sha256 = weights_sha256(spec, directory)
        self._model: Any = _load("SentenceTransformer", directory)
        self._tokenizer: Any = self._model.tokenizer
        prompts: dict[str, str] = dict(self._model.prompts or {})
        named = prompts.get("query", "")
        self.query_prefix = named if spec.query_prefix is None else spec.query_prefix
        self.passage_prefix = prompts.get("document", "") or prompts.get("passage", "")
        self.dim = int(self._model.get_embedding_dimension())
        special = int(self._tokenizer.num_special_tokens_to_add())
        self._most = int(self._model.max_seq_length) - special
        self.max_tokens = self._most - sum(self._count([self.passage_prefix]))

    def _count(self, texts: Sequence[str]) -> list[int]:
        if not texts:
            return []
        encoded = self._tokenizer(
            list(texts), add_special_tokens=False, truncation=False, verbose=False
        )
        return [len(ids) for ids in encoded["input_ids"]]

    def count_tokens(self, texts: Sequence[str]) -> list[int]:
        """Return the tokens of each text, special tokens and prefixes not counted."""
        return self._count(texts)

    def embed(self, texts: Sequence[str], *, kind: TextKind) -> Floats:
        """Return unit vectors [n, dim]; see `retrieval.models.base.Embedder`."""
        prefix = self.query_prefix if kind == "query" else self.passage_prefix
        full = [prefix + text for text in texts]
        for text, tokens in zip(full, self._count(full), strict=True):
            if tokens > self._most:
                raise too_long(text, tokens, self._most)
        if not full:
            return np.empty((0, self.dim), dtype=np.float32)
        vectors = self._model.encode(
            full, batch_size=1, prompt="", normalize_embeddings=True, show_progress_bar=False
        )
        return np.asarray(vectors, dtype=np.float32)


class TransformerReranker:
    """A CrossEncoder on the CPU, raw logits."""

    def __init__(self, spec: ModelSpec) -> None:
        directory, revision = resolve(spec)
        self.name = spec.name
        self.revision = f"{revision}+{CODE_VERSION}"
        self.sha256 = weights_sha256(spec, directory)
        self._model: Any = _load("CrossEncoder", directory)
        limit = int(self._model.max_seq_length or PAIR_TOKENS)
        self.max_tokens = min(spec.max_tokens or PAIR_TOKENS, limit)
        self._model.max_seq_length = self.max_tokens
        self._tokenizer: Any = self._model.tokenizer

    def score(self, query: str, passages: Sequence[str]) -> Floats:
        """Return logits [n]; see `retrieval.models.base.Reranker`."""
        import torch

        if not passages:
            return np.empty(0, dtype=np.float32)
        spans = self._tokenizer(query, add_special_tokens=False, return_offsets_mapping=True)
        offsets = spans["offset_mapping"]
        if len(offsets) > self.max_tokens // 2:
            query = query[: offsets[self.max_tokens // 2 - 1][1]]
        scores = self._model.predict(
            [(query, passage) for passage in passages],
            batch_size=1,
            show_progress_bar=False,
            activation_fn=torch.nn.Identity(),
        )
        return np.asarray(scores, dtype=np.float32).reshape(len(passages), -1)[:, 0]


def _load(kind: str, directory: Path) -> Any:
    import sentence_transformers
    from transformers.utils import logging

    quiet: Any = logging.disable_progress_bar
    quiet()  # data on stdout, our own progress on stderr
    try:
        return getattr(sentence_transformers, kind)(str(directory), device="cpu")
    except Exception as error:
        # Loading runs code of several libraries, each with its own errors.
        raise ModelError(
            f"sentence-transformers cannot load {directory} as a {kind}: {error}",
            "Name a model of that library, of the right kind, for this role.",
        ) from error
