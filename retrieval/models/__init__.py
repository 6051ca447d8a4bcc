"""Embedder, reranker and (later) LLM behind small protocols, loaded by name, verified by hash.

Belongs here: protocols, loaders, weight verification, tokenizers. Must not come here: what a model
is used for. Heavy libraries are imported when a model is loaded, never before.
"""

from retrieval.models.base import Embedder, ModelError, ModelInputError, Reranker
from retrieval.models.config import ModelsConfig, ModelSpec
from retrieval.models.load import (
    ModelStatus,
    load_embedder,
    load_reranker,
    verify_model,
    verify_models,
)

__all__ = [
    "Embedder",
    "ModelError",
    "ModelInputError",
    "ModelSpec",
    "ModelStatus",
    "ModelsConfig",
    "Reranker",
    "load_embedder",
    "load_reranker",
    "verify_model",
    "verify_models",
]
