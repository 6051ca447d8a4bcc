"""The exact schema of every table of a snapshot, with key, history columns and column docs.

A table is written only through `enforce`, so a file that exists has its schema. ``history`` names
the columns that depend on earlier crawls: everything else in the tables after ``pages`` is a pure
function of pages, bodies, configuration and code (docs/data-model.md).
"""

from __future__ import annotations

from dataclasses import dataclass
from hashlib import sha256

import pyarrow as pa

from retrieval.errors import SitequestError

TIME = pa.timestamp("us", tz="UTC")
HEADINGS = pa.list_(pa.struct([("level", pa.int8()), ("text", pa.string())]))
EVIDENCE = pa.list_(pa.struct([("kind", pa.string()), ("detail", pa.string())]))

PAGE_STATES = (
    "live", "redirected", "duplicate", "gone", "unreachable", "unlinked", "blocked", "skipped",
)  # fmt: skip
# Pages that are content, where body_sha256 is set: an outage or a lost link deletes nothing, so
# a page that cannot be had now (unreachable) or has no link now (unlinked) still counts.
CONTENT_STATES = ("live", "unreachable", "unlinked")
BLOCK_KINDS = ("prose", "list", "table", "code", "definitions", "heading")
REGIONS = ("content", "template")
VALUE_TYPES = ("text", "number", "money", "date", "time", "email", "phone", "url")
RELATION_KINDS = ("hyperlink", "membership", "role", "fact", "cooccurrence")
CHANGE_KINDS = ("added", "changed", "removed")


@dataclass(frozen=True)
class Column:
    """One column: name, arrow type, nullability and what it means (units included)."""

    name: str
    type: pa.DataType
    doc: str
    nullable: bool = False


@dataclass(frozen=True)
class Table:
    """One table: name, columns, key columns and the columns that are history."""

    name: str
    doc: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    history: tuple[str, ...] = ()

    @property
    def schema(self) -> pa.Schema:
        """Return the arrow schema with nullability."""
        return pa.schema([pa.field(c.name, c.type, nullable=c.nullable) for c in self.columns])

    @property
    def fingerprint(self) -> str:
        """Return a sha256 of names, types and nullability (hex, 16 characters)."""
        text = "\n".join(f"{c.name}|{c.type}|{c.nullable}" for c in self.columns)
        return sha256(text.encode()).hexdigest()[:16]


class SchemaError(SitequestError):
    """A table does not have its schema."""


def enforce(name: str, data: pa.Table) -> pa.Table:
    """Return ``data`` cast to the schema of table ``name``, sorted by nothing.

    Raises SchemaError naming the first column that is missing, unknown, not castable, or null
    where the schema says it must not be.
    """
    table = TABLES[name]
    missing = [c.name for c in table.columns if c.name not in data.column_names]
    extra = [n for n in data.column_names if n not in table.schema.names]
    if missing or extra:
        raise SchemaError(f"Table {name}: missing columns {missing}, unknown columns {extra}.")
    columns = []
    for column in table.columns:
        try:
            values = data[column.name].cast(column.type)
        except pa.ArrowException as error:
            raise SchemaError(f"Table {name}, column {column.name}: {error}") from error
        if not column.nullable and values.null_count:
            raise SchemaError(f"Table {name}, column {column.name}: {values.null_count} nulls.")
        columns.append(values)
    return pa.table(columns, schema=table.schema)


def empty(name: str) -> pa.Table:
    """Return table ``name`` with no rows."""
    return TABLES[name].schema.empty_table()


S, I8, I16, I32, I64 = pa.string(), pa.int8(), pa.int16(), pa.int32(), pa.int64()
F32, B = pa.float32(), pa.bool_()


def _c(name: str, type_: pa.DataType, doc: str) -> Column:
    return Column(name, type_, doc)


def _n(name: str, type_: pa.DataType, doc: str) -> Column:
    return Column(name, type_, doc, nullable=True)


_ALL = (
    Table(
        "pages", "One row per known URL; history: states depend on earlier crawls.",
        (
            _c("page_id", S, "hash of `key`"),
            _c("key", S, "canonical key on the public address; for identity, never fetched"),
            _c("url", S, "public URL as linked"),
            _n("final_url", S, "public URL after redirects; null when nothing was fetched"),
            _c("state", S, "one of PAGE_STATES"),
            _n("reason", S, "why the page is not live; null when live"),
            _n("status", I16, "HTTP status of the last response"),
            _n("etag", S, "ETag as sent"),
            _n("last_modified", S, "Last-Modified as sent"),
            _n("content_type", S, "media type without parameters"),
            _n("encoding", S, "encoding the body was decoded with"),
            _n("language", S, "declared language (primary subtag)"),
            _n("title", S, "title element, whitespace folded"),
            _n("depth", I16, "clicks from the nearest seed; null for sitemap-only pages"),
            _n("body_sha256", S, "address of the raw body in bodies/"),
            _n("body_bytes", I64, "size of the decoded body in bytes"),
            _n("content_hash", S, "hash of the visible text"),
            _n("canonical_page_id", S, "page this URL stands for when redirected or duplicate"),
            _c("in_sitemap", B, "listed in a sitemap of this crawl"),
            _c("linked", B, "linked from a live page of this crawl, or a seed"),
            _n("fetched_at", TIME, "time of the last response that was not 304"),
            _c("first_seen", TIME, "first crawl that knew the URL"),
            _n("last_changed", TIME, "last crawl whose content_hash differed"),
        ),
        ("page_id",), ("first_seen", "last_changed", "fetched_at"),
    ),
    Table(
        "links", "One row per hyperlink of a live page.",
        (
            _c("src_page_id", S, "page the link stands on"),
            _c("ordinal", I32, "0-based position in the page"),
            _c("dst_url", S, "public URL as linked, resolved, without fragment"),
            _n("dst_page_id", S, "live page it leads to after redirects and duplicates"),
            _c("anchor", S, "anchor text, whitespace folded (alt text of an image)"),
            _n("block_id", S, "block it stands in"),
            _c("region", S, "content or template (its block is kept or dropped)"),
            _n("rel", S, "rel attribute"),
        ),
        ("src_page_id", "ordinal"),
    ),
    Table(
        "blocks", "One row per block of a live page, kept and dropped.",
        (
            _c("block_id", S, "hash of page id, heading path, text hash, occurrence"),
            _c("page_id", S, "page"),
            _c("ordinal", I32, "0-based document order on the page"),
            _n("parent_block_id", S, "block of the nearest enclosing heading"),
            _c("heading_path", HEADINGS, "headings above the block, outermost first"),
            _c("kind", S, "one of BLOCK_KINDS"),
            _c("text_hash", S, "key into texts"),
            _n("context", S, "repeated table header or list lead of a split part; not page text"),
            _c("signature", S, "hash of the tag path; with text_hash it counts repetition"),
            _c("kept", B, "false: template, hidden or other dropped text"),
            _n("drop_reason", S, "why it was dropped; null when kept"),
            _n("input_hash", S, "embedded string of heading and text; null when dropped"),
            _n("path_input_hash", S, "embedded string of title and headings; null when dropped"),
            _c("lineage_id", S, "identity through edits and moves"),
        ),
        ("block_id",), ("lineage_id",),
    ),
    Table(
        "texts", "One row per distinct text of a block.",
        (
            _c("text_hash", S, "hash of `text`"),
            _c("text", S, "verbatim text; cells end in a tab, rows and items in a newline"),
            _c("words", I32, "whitespace-separated words (each CJK character counts one)"),
            _c("tokens", I32, "tokens of the embedding model, special tokens not counted"),
            _c("kept_blocks", I32, "kept blocks that have this text"),
            _c("dropped_blocks", I32, "dropped blocks that have this text"),
        ),
        ("text_hash",),
    ),
    Table(
        "mentions", "One row per entity mention in a distinct kept text; raw, not linked.",
        (
            _c("text_hash", S, "key into texts"),
            _c("start", I32, "start offset in characters"),
            _c("end", I32, "end offset in characters"),
            _c("type", S, "entity type"),
            _c("surface", S, "text[start:end]"),
            _c("confidence", F32, "0 to 1"),
            _c("extractor", S, "rule, gazetteer, anchor, or model name"),
            _c("extractor_version", S, "version of the extractor"),
        ),
        ("text_hash", "start", "end", "type"),
    ),
    Table(
        "entities", "One row per resolved entity.",
        (
            _c("entity_id", S, "independent of spelling order and build order"),
            _c("name", S, "preferred name"),
            _c("types", pa.list_(S), "types, best first"),
            _c("aliases", pa.list_(S), "other surfaces, sorted"),
            _n("home_page_id", S, "page about the entity"),
            _c("mentions", I32, "kept blocks that mention it"),
            _c("merge_evidence", EVIDENCE, "why the surfaces are one entity"),
        ),
        ("entity_id",),
    ),
    Table(
        "entity_edges", "One row per entity and kept block that mentions it (linking, a view).",
        (
            _c("entity_id", S, "entity"),
            _c("block_id", S, "block"),
            _c("surface", S, "first surface in the block"),
            _c("count", I32, "mentions in the block"),
            _c("confidence", F32, "0 to 1"),
            _c("method", S, "home, anchor, exact, alias, context"),
        ),
        ("entity_id", "block_id"),
    ),
    Table(
        "relations", "One row per typed edge and block that shows it.",
        (
            _c("relation_id", S, "hash of subject, predicate, object"),
            _c("block_id", S, "evidence"),
            _c("subject_id", S, "entity"),
            _c("predicate", S, "words of the predicate"),
            _n("object_id", S, "entity; null for a literal"),
            _n("literal", S, "literal object; null for an entity"),
            _c("kind", S, "one of RELATION_KINDS"),
            _c("confidence", F32, "0 to 1"),
            _c("extractor", S, "extractor"),
            _c("extractor_version", S, "version of the extractor"),
        ),
        ("relation_id", "block_id"),
    ),
    Table(
        "facts", "One row per label and value on a page.",
        (
            _c("fact_id", S, "hash of block, subject, label, value, occurrence"),
            _n("subject_id", S, "entity the fact is about"),
            _c("subject", S, "subject as text"),
            _c("label", S, "label"),
            _c("value", S, "value, verbatim"),
            _c("value_type", S, "one of VALUE_TYPES"),
            _c("block_id", S, "block it stands in"),
            _c("page_id", S, "page it stands on"),
            _c("scope", S, "page, or site for a fact in a repeated part, kept once"),
            _c("extractor", S, "table, definitions, line, heading"),
            _c("extractor_version", S, "version of the extractor"),
        ),
        ("fact_id",),
    ),
    Table(
        "topics", "One row per topic of the site.",
        (
            _c("topic_id", S, "hash of the terms"),
            _c("label", S, "readable label"),
            _c("terms", pa.list_(S), "terms, heaviest first"),
            _c("size", I32, "blocks"),
            _c("lineage_id", S, "follows a topic by overlap from snapshot to snapshot"),
        ),
        ("topic_id",), ("lineage_id",),
    ),
    Table(
        "topic_edges", "One row per topic and entity or block.",
        (
            _c("topic_id", S, "topic"),
            _c("target_kind", S, "entity or block"),
            _c("target_id", S, "entity_id or block_id"),
            _c("weight", F32, "0 to 1"),
        ),
        ("topic_id", "target_id"),
    ),
    Table(
        "metrics", "One row per question set, system, question type and metric.",
        (
            _c("question_set", S, "stem of the question file, or `index` for counts"),
            _c("system", S, "sitequest or a baseline"),
            _c("question_type", S, "type, or all"),
            _c("metric", S, "metric name"),
            _n("value", pa.float64(), "null when there is no gold"),
            _n("low", pa.float64(), "lower end of the 95 % interval"),
            _n("high", pa.float64(), "upper end of the 95 % interval"),
            _c("n", I32, "questions"),
        ),
        ("question_set", "system", "question_type", "metric"),
    ),
    Table(
        "changes", "One row per row changed since the parent.",
        (
            _c("table", S, "table name"),
            _c("key", S, "key values joined by U+001F"),
            _c("kind", S, "one of CHANGE_KINDS"),
            _n("before", S, "content hash in the parent"),
            _n("after", S, "content hash in this snapshot"),
        ),
        ("table", "key"), ("table", "key", "kind", "before", "after"),
    ),
)  # fmt: skip

TABLES: dict[str, Table] = {table.name: table for table in _ALL}

# The one table that LanceDB keeps. `kind` is text or path; `input` is the embedded string.
VECTOR_COLUMNS = ("input_hash", "kind", "input", "vector")


def vector_schema(dim: int) -> pa.Schema:
    """Return the schema of vectors.lance for embeddings of ``dim`` float32 values (unit length)."""
    return pa.schema(
        [
            pa.field("input_hash", S, nullable=False),
            pa.field("kind", S, nullable=False),
            pa.field("input", S, nullable=False),
            pa.field("vector", pa.list_(F32, dim), nullable=False),
        ]
    )
