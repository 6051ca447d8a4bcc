"""A small site parsed by the real parser, for tests of extraction and linking."""

from __future__ import annotations

import random
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from hashlib import sha256

import polars as pl
import pyarrow as pa

from assets.extraction.facts import build_facts
from assets.extraction.mentions import build_mentions, mentions_version
from assets.extraction.ner import Span
from assets.linking.entities import build_entities
from assets.linking.relations import build_relations
from assets.linking.topics import build_topics
from assets.parsing.blocks import ParseConfig, build_blocks
from retrieval.snapshot import ids
from retrieval.snapshot.schemas import TABLES

BASE = "https://www.example.edu"
LATER = ("mentions", "facts", "entities", "entity_edges", "relations", "topics", "topic_edges")

STAFF = "<nav><a href='/'>Home</a> &gt; <a href='/people/'>People</a> &gt; <span>{0}</span></nav>"
FOOT = "<footer><p>Switchboard: 01632 960 100</p></footer>"


def page(title: str, body: str, crumbs: str = "") -> str:
    """Return an HTML page with a main element, a breadcrumb and the site's footer."""
    return (
        f"<html lang=en><head><title>{title} | Example University</title></head>"
        f"<body>{crumbs}"
        f"<main><h1>{title}</h1>{body}</main>{FOOT}</body></html>"
    )


def site() -> dict[str, str]:
    """Return path → HTML of a site with homonyms, a table, roles, an acronym and codes."""
    return {
        "/": page(
            "Welcome",
            "<p>Start with the <a href='/departments/computing/'>Department of Computing</a> or "
            "the <a href='/people/'>people</a> of the university, who answer all letters.</p>",
        ),
        "/people/": page(
            "People",
            "<ul><li><a href='/people/helen-marsh/'>Marsh, Helen</a></li>"
            "<li><a href='/people/owen-marsh/'>Marsh, Owen</a></li></ul>",
        ),
        "/people/helen-marsh/": page(
            "Dr Helen Marsh",
            "<dl><dt>Email</dt><dd>h.marsh@example.edu</dd><dt>Office hours</dt>"
            "<dd>10:00 to 11:00</dd></dl><p>Dr Marsh studies learning machines at the tide.</p>",
            STAFF.format("Dr Helen Marsh"),
        ),
        "/people/owen-marsh/": page(
            "Dr Owen Marsh",
            "<p>Dr Marsh edits the letters of the harbour with the Royal Harbour Board (RHB). The "
            "RHB pays.</p>",
            STAFF.format("Dr Owen Marsh"),
        ),
        "/departments/computing/": page(
            "Department of Computing",
            "<h2>Head of department</h2><p>Dr Helen Marsh</p>"
            "<h2>Courses</h2><table>"
            "<thead><tr><th>Code</th><th>Title</th><th>Units</th></tr></thead>"
            "<tr><td>COMP 101</td><td>Programs</td><td>4</td></tr>"
            "<tr><td>COMP 102</td><td>Data</td><td>3</td></tr></table>",
        ),
        "/courses/": page(
            "Courses of study",
            "<h3>COMP 101 Programs 4 Units</h3><p>Prerequisites: none.<br>Programs that work.</p>"
            "<h3>COMP 102 Data 3 Units</h3><p>Prerequisites: COMP 101.</p>",
        ),
    }


class WordNer:
    """A recogniser by rule: capitalised words in a row, after a word in lower case."""

    name = "two-words"
    version = "1"

    def __init__(self) -> None:
        self.read: list[str] = []

    def __call__(self, texts: Sequence[str]) -> list[list[Span]]:
        """Return the spans of each text, and remember what was read."""
        import re

        self.read += texts
        pattern = re.compile(r"(?<=[a-z] )[A-Z][a-z]+(?: [A-Z][a-z]+)+")
        return [[Span(*m.span(), "ORG", 0.8) for m in pattern.finditer(t)] for t in texts]


class MemoryBodies:
    """Bodies held in memory."""

    def __init__(self, bodies: dict[str, bytes]) -> None:
        self._bodies = bodies

    def iter(self, shas: Sequence[str]) -> Iterator[tuple[str, bytes]]:
        """Yield (sha256, body) in the order asked."""
        for sha in shas:
            yield sha, self._bodies[sha]


@dataclass
class Graph:
    """All tables of a build by name; serves as the parent of the next build."""

    tables: dict[str, pl.DataFrame]
    versions: dict[str, str] = field(default_factory=dict)

    def __getitem__(self, name: str) -> pl.DataFrame:
        return self.tables[name]

    def parent_table(self, name: str, code_version: str | None = None) -> pl.DataFrame | None:
        """Return a table, None when it was made by other code."""
        if code_version is not None and self.versions.get(name) != code_version:
            return None
        return self.tables.get(name)


def parse(html: dict[str, str]) -> dict[str, pl.DataFrame]:
    """Return pages, blocks, links and texts of the site."""
    rows, bodies = [], {}
    for path, text in sorted(html.items()):
        body = text.encode()
        sha = sha256(body).hexdigest()
        bodies[sha] = body
        title = text.partition("<title>")[2].partition("</title>")[0] or None
        url = BASE + path
        rows.append((ids.page_id(url), url, url, url, "live", title, "utf-8", sha))
    columns = ["page_id", "key", "url", "final_url", "state", "title", "encoding", "body_sha256"]
    pages = pl.DataFrame(rows, schema=columns, orient="row").with_columns(
        canonical_page_id=pl.lit(None, pl.String), content_hash=pl.col("body_sha256")
    )
    built = build_blocks(
        pages,
        MemoryBodies(bodies),  # type: ignore[arg-type]
        parent=None,
        config=ParseConfig(),
        count_tokens=lambda texts: [2 * len(t.split()) for t in texts],
        max_tokens=512,
    )
    tables = {"blocks": built.blocks, "links": built.links, "texts": built.texts}
    return {"pages": pages, **{name: pl.DataFrame(t) for name, t in tables.items()}}


def graph(
    tables: dict[str, pl.DataFrame],
    *,
    parent: Graph | None = None,
    ner: WordNer | None = None,
    shuffle: int | None = None,
) -> Graph:
    """Build all tables of layer three; ``shuffle`` (a seed) permutes the rows of every input."""
    ner = ner or WordNer()

    def mixed(table: pl.DataFrame) -> pl.DataFrame:
        if shuffle is None:
            return table
        order = list(range(table.height))
        random.Random(shuffle).shuffle(order)
        return table[order]

    pages, blocks, links, texts = (mixed(tables[n]) for n in ("pages", "blocks", "links", "texts"))
    mentions = _frame(build_mentions(pages, blocks, links, texts, parent=parent, ner=ner))
    facts = _frame(build_facts(pages, blocks, links, texts))
    entities, edges = map(_frame, build_entities(pages, blocks, links, texts, mixed(mentions)))
    relations = _frame(
        build_relations(pages, blocks, links, texts, mixed(entities), mixed(edges), mixed(facts))
    )
    topics, topic_edges = map(
        _frame, build_topics(pages, blocks, texts, mixed(entities), mixed(edges), parent=parent)
    )
    made = dict(zip(LATER, (mentions, facts, entities, edges, relations, topics, topic_edges),
                    strict=True))  # fmt: skip
    return Graph({**tables, **made}, {"mentions": mentions_version(ner)})


def _frame(table: pa.Table) -> pl.DataFrame:
    return pl.DataFrame(table)


def pure(table: pl.DataFrame, name: str) -> list[tuple[object, ...]]:
    """Return the rows of a table in key order, less its history columns."""
    schema = TABLES[name]
    frame = table.drop(schema.history) if schema.history else table
    return frame.sort(schema.key).rows()


def entity(built: Graph, name: str) -> dict[str, object]:
    """Return the only entity called ``name``."""
    rows = built["entities"].filter(pl.col("name") == name).rows(named=True)
    assert len(rows) == 1, (name, rows)
    return rows[0]
