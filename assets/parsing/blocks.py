"""The `blocks`, `links` and `texts` tables of a crawl.

Pages are parsed one by one; a page whose body, address and title are those of the parent snapshot
takes its rows from the parent's tables. Over all rows, fresh or taken over, the template is learned
anew and links are resolved anew, so that the tables are those of a clean build of the same crawl
(lineage apart).
"""

from __future__ import annotations

import codecs
from collections.abc import Callable
from dataclasses import dataclass
from typing import Protocol

import polars as pl
import pyarrow as pa

from assets.parsing.fit import CountTokens, fit
from assets.parsing.garbage import no_collection
from assets.parsing.lineage import lineage
from assets.parsing.links import destinations
from assets.parsing.page import ParseConfig, ParsedPage, parse_page
from assets.parsing.rows import BLOCK_COLUMNS, LINK_SCHEMA, BlockRows
from assets.parsing.template import repeated
from assets.parsing.words import count_words
from retrieval.snapshot import ids, inputs
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.schemas import TABLES, enforce
from retrieval.snapshot.states import HAS_CONTENT

__all__ = ["CODE_VERSION", "BlockTables", "ParseConfig", "build_blocks", "code_version"]

CODE_VERSION = f"parse-1.inputs-{inputs.VERSION}"

_SAME_PAGE = ["page_id", "body_sha256", "encoding", "address", "title"]


class ParentTables(Protocol):
    """What gives the parent snapshot's tables: a candidate."""

    def parent_table(self, name: str, code_version: str | None = None) -> pl.DataFrame | None:
        """Return a table of the parent, None without it or when other code made it."""


@dataclass(frozen=True)
class BlockTables:
    """The three tables, the code version to write them with, counts, and pages that lost text."""

    blocks: pa.Table
    links: pa.Table
    texts: pa.Table
    code_version: str
    stats: dict[str, int]
    conservation_failures: list[str]


def code_version(config: ParseConfig, max_tokens: int, tokenizer: str = "") -> str:
    """Return the version of everything but pages and bodies that the tables depend on."""
    settings = ids.digest(config.model_dump_json(), str(max_tokens), tokenizer)
    return f"{CODE_VERSION}.{settings}"


@no_collection()
def build_blocks(
    pages: pl.DataFrame,
    bodies: Bodies,
    *,
    parent: ParentTables | None,
    config: ParseConfig,
    count_tokens: CountTokens,
    max_tokens: int,
    tokenizer: str = "",
    key_of: Callable[[str], str | None] | None = None,
    progress: Callable[[int, int], None] | None = None,
) -> BlockTables:
    """Build blocks, links and texts of the live pages.

    ``count_tokens`` counts without special tokens, ``max_tokens`` is the model's window with them,
    ``tokenizer`` names the tokenizer (part of the code version). ``key_of`` maps a URL to the
    canonical key of ``pages``; without it links are matched by their address as it is. ``progress``
    is called with pages done and pages to parse.

    Raises MissingBodyError when a live page's body is not in the store.
    """
    version = code_version(config, max_tokens, tokenizer)
    live = _live(pages)
    cache = _Cache.of(parent, live, version)
    fresh = live.join(cache.page_ids, on="page_id", how="anti", maintain_order="left")
    parsed = _parse(fresh, bodies, config, progress)
    tokens = fit(parsed, count_tokens, max_tokens, cache.tokens)
    rows = BlockRows()
    for page_id, title in fresh.select("page_id", "title").iter_rows():
        rows.add(page_id, title, parsed[page_id])
    texts = pl.concat([cache.texts, _fresh_texts(rows.texts, tokens)]).unique("text_hash")
    blocks = _decide(pl.concat([cache.blocks, rows.blocks()]), live, texts, config)
    history = parent.parent_table("blocks") if parent else None
    history_texts = parent.parent_table("texts") if parent else None
    blocks = blocks.with_columns(lineage_id=lineage(blocks, texts, history, history_texts))
    links = _resolve(pl.concat([cache.links, rows.links()]), blocks, pages, key_of)
    counted = _count_blocks(texts, blocks)
    failures = sorted(page for page, found in parsed.items() if not found.conserved)
    return BlockTables(
        blocks=_table("blocks", blocks.sort("page_id", "ordinal")),
        links=_table("links", links.sort("src_page_id", "ordinal")),
        texts=_table("texts", counted.sort("text_hash")),
        code_version=version,
        stats=_stats(blocks, counted, live, fresh, failures),
        conservation_failures=failures,
    )


def _live(pages: pl.DataFrame) -> pl.DataFrame:
    return (
        pages.filter(HAS_CONTENT)
        .with_columns(address=pl.coalesce("final_url", "url"))
        .sort("page_id")
    )


@dataclass(frozen=True)
class _Cache:
    """Rows of the parent for pages that did not change; all empty without a usable parent."""

    page_ids: pl.DataFrame
    blocks: pl.DataFrame
    links: pl.DataFrame
    texts: pl.DataFrame
    tokens: dict[str, int]

    @classmethod
    def of(cls, parent: ParentTables | None, live: pl.DataFrame, version: str) -> _Cache:
        tables = {
            name: parent.parent_table(name, version) if parent else None
            for name in ("blocks", "links", "texts")
        }
        pages = parent.parent_table("pages") if parent else None
        blocks, links, texts = tables["blocks"], tables["links"], tables["texts"]
        if blocks is None or links is None or texts is None or pages is None:
            none = BlockRows()
            return cls(live.select("page_id").clear(), none.blocks(), none.links(), _no_texts(), {})
        same = live.join(_live(pages), on=_SAME_PAGE, how="semi", nulls_equal=True)
        kept = same.select("page_id")
        used = blocks.join(kept, on="page_id", how="semi", maintain_order="left")
        own = pl.when(pl.col("drop_reason") != "repeated").then("drop_reason")
        return cls(
            kept,
            used.with_columns(drop_reason=own).select(BLOCK_COLUMNS),
            links.join(kept.rename({"page_id": "src_page_id"}), on="src_page_id", how="semi")
            .select(list(LINK_SCHEMA)),
            texts.select("text_hash", "text", "words", "tokens"),
            dict(texts.select("text_hash", "tokens").iter_rows()),
        )  # fmt: skip


def _parse(
    fresh: pl.DataFrame,
    bodies: Bodies,
    config: ParseConfig,
    progress: Callable[[int, int], None] | None,
) -> dict[str, ParsedPage]:
    wanted: dict[str, list[tuple[str, str, str]]] = {}
    for sha, *page in fresh.select("body_sha256", "page_id", "address", "encoding").iter_rows():
        wanted.setdefault(sha, []).append(tuple(page))
    parsed: dict[str, ParsedPage] = {}
    for sha, body in bodies.iter(list(wanted)):
        for page_id, address, encoding in wanted[sha]:
            parsed[page_id] = parse_page(_text(body, encoding), address, config)
            if progress:
                progress(len(parsed), fresh.height)
    return parsed


def _text(body: bytes, encoding: str | None) -> str:
    """Decode with the encoding that the crawl found, without a byte order mark."""
    text = body.decode(encoding or "utf-8", "replace")
    return text.removeprefix(codecs.BOM_UTF8.decode())


def _no_texts() -> pl.DataFrame:
    return pl.DataFrame(
        schema={"text_hash": pl.String, "text": pl.String, "words": pl.Int32, "tokens": pl.Int32}
    )


def _fresh_texts(texts: dict[str, str], tokens: dict[str, int]) -> pl.DataFrame:
    return pl.DataFrame(
        {
            "text_hash": list(texts),
            "text": list(texts.values()),
            "words": [count_words(text) for text in texts.values()],
            "tokens": [tokens[key] for key in texts],
        },
        schema=_no_texts().schema,
    )


def _decide(
    blocks: pl.DataFrame, live: pl.DataFrame, texts: pl.DataFrame, config: ParseConfig
) -> pl.DataFrame:
    """Add the template's decision; only blocks that it turns about get other input hashes."""
    own = blocks.filter(pl.col("drop_reason").is_null())
    template = own.select("block_id", repeated=repeated(own, live, config))
    blocks = blocks.join(template, on="block_id", how="left", maintain_order="left").with_columns(
        drop_reason=pl.when("repeated").then(pl.lit("repeated")).otherwise("drop_reason")
    )
    kept = pl.col("drop_reason").is_null()
    blocks = blocks.with_columns(
        kept=kept,
        input_hash=pl.when(kept).then("input_hash"),
        path_input_hash=pl.when(kept).then("path_input_hash"),
    ).drop("repeated")
    returned = blocks.filter(pl.col("kept") & pl.col("input_hash").is_null())
    if returned.is_empty():
        return blocks
    return blocks.update(_with_inputs(returned, live, texts), on="block_id", maintain_order="left")


def _with_inputs(returned: pl.DataFrame, live: pl.DataFrame, texts: pl.DataFrame) -> pl.DataFrame:
    """Compute the input hashes of blocks that were template in the parent and are not now."""
    rows = returned.join(texts, on="text_hash").join(live.select("page_id", "title"), on="page_id")
    hashes = []
    for block, heads, context, text, title in rows.select(
        "block_id", "heading_path", "context", "text", "title"
    ).iter_rows():
        path = [head["text"] for head in heads]
        hashes.append(
            (
                block,
                ids.input_hash(inputs.text_input(path, context, text)),
                ids.input_hash(inputs.path_input(title, path)),
            )
        )
    schema = dict.fromkeys(("block_id", "input_hash", "path_input_hash"), pl.String)
    return pl.DataFrame(hashes, schema=schema, orient="row")


def _resolve(
    links: pl.DataFrame,
    blocks: pl.DataFrame,
    pages: pl.DataFrame,
    key_of: Callable[[str], str | None] | None,
) -> pl.DataFrame:
    """Add the live page each link leads to, and the region by what became of its block."""
    same: Callable[[str], str | None] = lambda url: url  # noqa: E731 - two lines of a function
    ends = destinations(pages, key_of or same)
    urls = links.get_column("dst_url").unique().to_list()
    known = [(url, ends.get((key_of or same)(url) or "")) for url in urls]
    targets = pl.DataFrame(
        known, schema={"dst_url": pl.String, "dst_page_id": pl.String}, orient="row"
    )
    in_block = (
        pl.when("kept").then(pl.lit("content")).when(~pl.col("kept")).then(pl.lit("template"))
    )
    return (
        links.join(targets, on="dst_url", how="left", maintain_order="left")
        .join(blocks.select("block_id", "kept"), on="block_id", how="left", maintain_order="left")
        .with_columns(region=in_block.otherwise("region"))
    )


def _count_blocks(texts: pl.DataFrame, blocks: pl.DataFrame) -> pl.DataFrame:
    counts = blocks.group_by("text_hash").agg(
        kept_blocks=pl.col("kept").sum().cast(pl.Int32),
        dropped_blocks=(~pl.col("kept")).sum().cast(pl.Int32),
    )
    return texts.join(counts, on="text_hash")


def _table(name: str, frame: pl.DataFrame) -> pa.Table:
    return enforce(name, frame.select([column.name for column in TABLES[name].columns]).to_arrow())


def _stats(
    blocks: pl.DataFrame,
    texts: pl.DataFrame,
    live: pl.DataFrame,
    fresh: pl.DataFrame,
    failures: list[str],
) -> dict[str, int]:
    kept = blocks.filter("kept")
    words = texts.select((pl.col("words") * pl.col("kept_blocks")).sum()).item()
    return {
        "pages": live.height,
        "pages_parsed": fresh.height,
        "pages_reused": live.height - fresh.height,
        "blocks": blocks.height,
        "blocks_kept": kept.height,
        "texts": texts.height,
        "texts_kept": kept.get_column("text_hash").n_unique(),
        "inputs": kept.get_column("input_hash").n_unique(),
        "path_inputs": kept.get_column("path_input_hash").n_unique(),
        "words_kept": words or 0,
        "conservation_failures": len(failures),
    }
