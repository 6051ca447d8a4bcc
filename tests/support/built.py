"""A published snapshot of HTML pages held in memory, built by the real stages without a crawl."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from pathlib import Path

import pyarrow as pa

from assets.embedding.search import build_search
from assets.embedding.vectors import update_vectors
from assets.extraction.facts import build_facts
from assets.extraction.mentions import build_mentions
from assets.extraction.ner import SpacyNer
from assets.linking.entities import build_entities
from assets.linking.relations import build_relations
from assets.linking.topics import build_topics
from assets.parsing.blocks import ParseConfig, build_blocks
from assets.parsing.digest import page_digest
from assets.publishing.bodies import BodyWriter
from assets.publishing.candidate import Candidate
from assets.publishing.publish import publish
from retrieval.models.base import Embedder
from retrieval.models.config import ModelsConfig
from retrieval.models.load import load_embedder
from retrieval.snapshot import ids
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.layout import SitePaths
from retrieval.snapshot.manifest import ModelEntry
from retrieval.snapshot.reader import Snapshot
from retrieval.snapshot.schemas import TABLES, empty

HOST = "https://www.college.example"


class NoNer:
    """A recogniser that finds nothing: names come from the site itself."""

    name, version = "none", "1"

    def __call__(self, texts: Sequence[str]) -> list[list[object]]:
        return [[] for _ in texts]


def build_site(
    root: Path,
    site: str,
    pages: Mapping[str, str | bytes],
    *,
    label: str | None = None,
    now: datetime | None = None,
    host: str = HOST,
    embedder: Embedder | None = None,
    ner: bool = False,
) -> Snapshot:
    """Publish a snapshot of ``pages`` (path → HTML) as the newest of ``site``."""
    now = now or datetime(2026, 1, 5, 12, tzinfo=UTC)
    paths = SitePaths(root, site)
    run = f"run-{now:%Y%m%d%H%M%S}"
    embedder = embedder or load_embedder(ModelsConfig().embedder)
    with BodyWriter(paths, run) as writer:
        rows = [_page(writer, host, path, body, now) for path, body in pages.items()]
    candidate = Candidate.begin(paths, run_id=run, label=label, now=now)

    def write(name: str, table: pa.Table) -> None:
        candidate.write(name, table, code_version="test")

    write("pages", pa.Table.from_pylist(rows, schema=TABLES["pages"].schema))
    blocks = build_blocks(
        candidate.table("pages"), Bodies(paths.bodies), parent=candidate, config=ParseConfig(),
        count_tokens=embedder.count_tokens, max_tokens=embedder.max_tokens,
    )  # fmt: skip
    for name in ("blocks", "links", "texts"):
        write(name, getattr(blocks, name))
    base = [candidate.table(name) for name in ("pages", "blocks", "links", "texts")]
    write("mentions", build_mentions(*base, parent=candidate, ner=SpacyNer() if ner else NoNer()))
    write("facts", build_facts(*base))
    entities, edges = build_entities(*base, candidate.table("mentions"))
    write("entities", entities)
    write("entity_edges", edges)
    linked = [candidate.table(name) for name in ("entities", "entity_edges")]
    write("relations", build_relations(*base, *linked, candidate.table("facts")))
    page_rows, block_rows, _, text_rows = base
    topics, topic_edges = build_topics(page_rows, block_rows, text_rows, *linked, parent=candidate)
    write("topics", topics)
    write("topic_edges", topic_edges)
    update_vectors(candidate, embedder, progress=lambda done, total: None)
    build_search(candidate)
    model = ModelEntry(
        role="embedder", name=embedder.name, revision=embedder.revision, sha256=embedder.sha256
    )
    candidate.write_manifest(config_fingerprint="test", models=[model], stats={})
    write("metrics", empty("metrics"))
    candidate.write_changes(code_version="test")
    return publish(candidate)


def _page(
    writer: BodyWriter, host: str, path: str, body: str | bytes, now: datetime
) -> dict[str, object]:
    raw = body.encode() if isinstance(body, str) else body
    url = f"{host}{path}"
    digest = page_digest(raw, "text/html; charset=utf-8" if isinstance(body, str) else None, url)
    sha = ids.body_sha256(raw)
    writer.add(sha, raw, "text/html", now)
    return {
        "page_id": ids.page_id(url), "key": url, "url": url, "final_url": url, "state": "live",
        "reason": None, "status": 200, "etag": None, "last_modified": None,
        "content_type": "text/html", "encoding": digest.encoding, "language": digest.language,
        "title": digest.title, "depth": 1, "body_sha256": sha, "body_bytes": len(raw),
        "content_hash": digest.content_hash, "canonical_page_id": None, "in_sitemap": True,
        "linked": True, "fetched_at": now, "first_seen": now, "last_changed": now,
    }  # fmt: skip
