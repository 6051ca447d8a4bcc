"""The configuration of one site as the stages take it; composed by `pipelines.settings`."""

from __future__ import annotations

from hashlib import sha256
from pathlib import Path

from pydantic import BaseModel, ConfigDict

from assets.checks.config import ChecksConfig
from assets.crawling.config import CrawlConfig
from assets.parsing.page import ParseConfig
from retrieval.config import RetrievalConfig
from retrieval.models.config import ModelsConfig
from retrieval.snapshot.layout import SitePaths


def identifier(site: str) -> str:
    """Return the name of a site where Dagster wants an identifier: '-' becomes '_'."""
    return site.replace("-", "_")


class EvaluationConfig(BaseModel):
    """Questions asked of every candidate.

    ``questions`` is a JSONL file; ``version`` the version whose gold holds, default the label of
    the snapshot; ``limit`` the most questions asked (a deterministic sample).
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    questions: Path
    version: str | None = None
    limit: int = 100


class SiteConfig(BaseModel):
    """Everything the stages of one site need to know."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    name: str
    root: Path
    crawl: CrawlConfig
    parse: ParseConfig
    models: ModelsConfig
    retrieval: RetrievalConfig
    checks: ChecksConfig
    evaluation: EvaluationConfig | None = None

    @property
    def paths(self) -> SitePaths:
        """Return where the site's data lie."""
        return SitePaths(self.root, self.name)

    @property
    def group(self) -> str:
        """Return the name of the site's asset group in Dagster."""
        return identifier(self.name)

    @property
    def fingerprint(self) -> str:
        """Return a sha256 (16 hex characters) of all that shapes tables.

        Where the site is served from, politeness and the data root change no row, so they are
        left out.
        """
        crawl = self.crawl.model_dump(
            mode="json",
            include={
                "seeds",
                "hosts",
                "include",
                "exclude",
                "max_depth",
                "sitemaps",
                "drop_params",
            },
        )
        parts = [crawl, self.parse.model_dump(mode="json"), self.models.model_dump(mode="json")]
        return sha256(repr(parts).encode()).hexdigest()[:16]
