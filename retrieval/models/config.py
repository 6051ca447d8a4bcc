"""Which models take part: what a person names in the configuration."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field

Kind = Literal["onnx", "sentence-transformers", "spacy", "hash"]


class ModelSpec(BaseModel):
    """One model by name.

    ``onnx`` and ``spacy`` name a model whose files are pinned by hash (`retrieval.models.pins`).
    ``sentence-transformers`` names a directory, an installed package that carries one, or a hub
    id: any bi-encoder or cross-encoder of that library. ``hash`` is no model at all but declared
    feature hashing, for benchmarks of scale: its neighbours share words, nothing more.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    kind: Kind
    name: str = Field(min_length=1)
    path: Path | None = Field(
        default=None, description="take the pinned files from this directory, not from the package"
    )
    revision: str | None = Field(default=None, description="revision on the hub, for a hub id")
    sha256: str | None = Field(
        default=None, description="expected hash of the weights; pinned models have their own"
    )
    query_prefix: str | None = Field(
        default=None, description="put before a query; null takes the model's own"
    )
    max_tokens: int | None = Field(
        default=None,
        ge=16,
        description="cross-encoder: tokens of a pair (null: 256 or what the model takes if less)",
    )
    dim: int = Field(default=384, ge=8, description="dimension of a hash embedder")


class ModelsConfig(BaseModel):
    """The models of a site; the defaults install from the package index and never download."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    embedder: ModelSpec = ModelSpec(kind="onnx", name="bge-small-en-v1.5")
    reranker: ModelSpec = ModelSpec(kind="onnx", name="ms-marco-MiniLM-L-12-v2")
    ner: ModelSpec = ModelSpec(kind="spacy", name="en_core_web_sm")
