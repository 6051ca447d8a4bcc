"""From a spec to a loaded model, and the check of all models' files."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict

from retrieval.errors import BadInputError
from retrieval.models.base import Embedder, Reranker
from retrieval.models.config import ModelsConfig, ModelSpec
from retrieval.models.pins import Pinned, locate, package_version, pinned, verify

Role = Literal["embedder", "reranker", "ner"]


class ModelStatus(BaseModel):
    """A model whose files are there and have the expected hash."""

    model_config = ConfigDict(frozen=True)

    role: Role
    name: str
    revision: str
    sha256: str
    where: str


def load_embedder(spec: ModelSpec) -> Embedder:
    """Load an embedder; its files are verified first.

    Raises ModelError when files are missing, differ from their pin or cannot be loaded, and
    BadInputError when the spec is of a kind that is no embedder.
    """
    if spec.kind == "onnx":
        from retrieval.models.onnx import OnnxEmbedder

        model, directory = _pinned_files(spec)
        return OnnxEmbedder(
            directory,
            name=model.name,
            revision=_revision(model),
            sha256=model.weights_sha256,
            query_prefix=spec.query_prefix,
        )
    if spec.kind == "sentence-transformers":
        from retrieval.models.transformer import TransformerEmbedder

        return TransformerEmbedder(spec)
    if spec.kind == "hash":
        from retrieval.models.hashing import HashEmbedder

        return HashEmbedder(spec.name, spec.dim)
    raise _wrong_kind(spec, "embedder", "onnx, sentence-transformers or hash")


def load_reranker(spec: ModelSpec) -> Reranker:
    """Load a reranker; its files are verified first. Raises as `load_embedder` does."""
    if spec.kind == "onnx":
        from retrieval.models.onnx import OnnxReranker

        model, directory = _pinned_files(spec)
        return OnnxReranker(
            directory,
            name=model.name,
            revision=_revision(model),
            sha256=model.weights_sha256,
            max_tokens=spec.max_tokens,
        )
    if spec.kind == "sentence-transformers":
        from retrieval.models.transformer import TransformerReranker

        return TransformerReranker(spec)
    raise _wrong_kind(spec, "reranker", "onnx or sentence-transformers")


def verify_models(config: ModelsConfig) -> list[ModelStatus]:
    """Hash the files of every model of ``config`` without loading any.

    Raises ModelError, with the remedy, at the first that is missing or differs.
    """
    roles: list[tuple[Role, ModelSpec]] = [
        ("embedder", config.embedder),
        ("reranker", config.reranker),
        ("ner", config.ner),
    ]
    return [verify_model(role, spec) for role, spec in roles]


def verify_model(role: Role, spec: ModelSpec) -> ModelStatus:
    """Hash the files of one model without loading it. Raises ModelError with the remedy."""
    if spec.kind == "hash":
        return ModelStatus(role=role, name=spec.name, revision="", sha256="", where="built in")
    if spec.kind == "sentence-transformers":
        from retrieval.models.transformer import resolve, weights_sha256

        directory, revision = resolve(spec)
        sha = weights_sha256(spec, directory)
    else:
        model, directory = _pinned_files(spec)
        revision, sha = _revision(model), model.weights_sha256
    return ModelStatus(
        role=role, name=spec.name, revision=revision, sha256=sha, where=str(directory)
    )


def _pinned_files(spec: ModelSpec) -> tuple[Pinned, Path]:
    model = pinned(spec.name)
    if spec.sha256 not in (None, model.weights_sha256):
        raise BadInputError(
            f"{spec.name}: the configuration expects sha256 {spec.sha256}, this version of the"
            f" program {model.weights_sha256}.",
            "Leave sha256 out for a pinned model.",
        )
    directory = locate(model, spec.path)
    verify(model, directory)
    return model, directory


def _revision(model: Pinned) -> str:
    # With the hash verified the version only says where the bytes came from.
    return f"{model.distribution} {package_version(model.distribution) or model.version}"


def _wrong_kind(spec: ModelSpec, role: str, kinds: str) -> BadInputError:
    return BadInputError(
        f"A model of kind {spec.kind} (“{spec.name}”) cannot be the {role}.",
        f"Choose kind {kinds} in the configuration.",
    )
