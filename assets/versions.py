"""The code version of every table and stage; a changed version recomputes what it made.

A stage's version lies beside its logic; here they are gathered, because the manifest records one
per table and an early end must compare them all.
"""

from __future__ import annotations

from assets.crawling.pages import CODE_VERSION as PAGES
from assets.embedding.vectors import CODE_VERSION as VECTORS
from assets.extraction.facts import VERSION as FACTS
from assets.extraction.mentions import VERSION as MENTIONS
from assets.linking.entities import VERSION as ENTITIES
from assets.linking.relations import VERSION as RELATIONS
from assets.linking.topics import VERSION as TOPICS
from assets.parsing.blocks import CODE_VERSION as BLOCKS

CODE_VERSIONS = {
    "pages": PAGES,
    "links": BLOCKS,
    "blocks": BLOCKS,
    "texts": BLOCKS,
    "mentions": MENTIONS,
    "entities": ENTITIES,
    "entity_edges": ENTITIES,
    "relations": RELATIONS,
    "facts": FACTS,
    "topics": TOPICS,
    "topic_edges": TOPICS,
    "metrics": "1",
    "changes": "1",
    "vectors": VECTORS,
    "candidate_report": "1",
    "published_snapshot": "1",
}
