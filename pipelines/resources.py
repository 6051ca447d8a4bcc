"""What a run needs from outside: the models, loaded once, and the site's writer lock."""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

import dagster as dg

from assets.publishing.lock import writer_lock
from retrieval.snapshot.layout import SitePaths

if TYPE_CHECKING:
    from assets.extraction.ner import Ner
    from retrieval.models.base import Embedder
    from retrieval.models.config import ModelsConfig


class LoadedModels:
    """The models of `sites.yaml`, each loaded on first use and kept for the life of the process."""

    def __init__(self) -> None:
        self._embedders: dict[str, Embedder] = {}
        self._ner: dict[str, Ner] = {}

    def embedder(self, config: ModelsConfig) -> Embedder:
        """Return the embedder that ``config`` names."""
        key = config.embedder.model_dump_json()
        if key not in self._embedders:
            from retrieval.models.load import load_embedder

            self._embedders[key] = load_embedder(config.embedder)
        return self._embedders[key]

    def ner(self, config: ModelsConfig) -> Ner:
        """Return the named-entity recogniser that ``config`` names."""
        key = config.ner.model_dump_json()
        if key not in self._ner:
            from assets.extraction.ner import SpacyNer
            from retrieval.models.load import verify_model
            from retrieval.models.pins import pinned

            verify_model("ner", config.ner)
            self._ner[key] = SpacyNer(pinned(config.ner.name).package)
        return self._ner[key]


def writer_lock_resource(paths: SitePaths) -> dg.ResourceDefinition:
    """Build the resource that holds the site's writer lock as long as the run lives."""

    @dg.resource(description="The right to write below the site's directory.")
    def lock(context: dg.InitResourceContext) -> Iterator[None]:
        with writer_lock(paths, context.run.run_id if context.run else "outside a run"):
            yield None

    return lock
