"""The tables of a crawl: identity, template, tokens, lineage, and incremental equal to clean."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from assets.parsing.blocks import BlockTables, ParseConfig, build_blocks
from assets.parsing.digest import page_digest
from assets.publishing.bodies import BodyWriter
from retrieval.snapshot import ids, inputs
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.layout import SitePaths

HOST = "https://example.org/"
PROSE = "The office answers every letter within a week and keeps a copy of each answer given. "
CONFIG = ParseConfig(template_min_pages=3, section_min_pages=4)


def count_tokens(texts: Sequence[str]) -> list[int]:
    """Count one token a word and four characters of it, additive over lines."""
    return [sum(1 + len(word) // 4 for word in text.split()) for text in texts]


@dataclass
class Crawl:
    """A small site on disk: pages table and bodies."""

    dir: Path
    pages: pl.DataFrame = field(default_factory=pl.DataFrame)

    @classmethod
    def of(cls, dir: Path, site: dict[str, str], name: str = "c1") -> Crawl:
        paths = SitePaths(dir, "site")
        writer = BodyWriter(paths, name)
        rows = []
        for path, html in sorted(site.items()):
            body, url = html.encode(), HOST + path
            sha = sha256(body).hexdigest()
            writer.add(sha, body)
            found = page_digest(body, None, url)
            rows.append(
                {
                    "page_id": ids.page_id(url), "key": url, "url": url, "final_url": url,
                    "state": "live", "canonical_page_id": None, "encoding": found.encoding,
                    "title": found.title, "body_sha256": sha,
                }
            )  # fmt: skip
        writer.close()
        columns = ["page_id", "key", "url", "final_url", "state", "canonical_page_id", "encoding",
                   "title", "body_sha256"]  # fmt: skip
        return cls(dir, pl.DataFrame(rows, schema=dict.fromkeys(columns, pl.String)))

    def build(
        self, parent: Parent | None = None, config: ParseConfig = CONFIG, max_tokens: int = 200
    ) -> BlockTables:
        return build_blocks(
            self.pages, Bodies(SitePaths(self.dir, "site").bodies), parent=parent, config=config,
            count_tokens=count_tokens, max_tokens=max_tokens,
        )  # fmt: skip


@dataclass
class Parent:
    """The tables of an earlier crawl, by name, as a candidate gives them."""

    crawl: Crawl
    built: BlockTables

    def parent_table(self, name: str, code_version: str | None = None) -> pl.DataFrame | None:
        if name == "pages":
            return self.crawl.pages
        if code_version not in (None, self.built.code_version):
            return None
        frame = pl.from_arrow(getattr(self.built, name))
        assert isinstance(frame, pl.DataFrame)
        return frame


def frame(built: BlockTables, name: str = "blocks") -> pl.DataFrame:
    table = pl.from_arrow(getattr(built, name))
    assert isinstance(table, pl.DataFrame)
    if name != "blocks":
        return table
    texts = frame(built, "texts").select("text_hash", "text")
    return table.join(texts, on="text_hash", maintain_order="left")


def page(title: str, *parts: str) -> str:
    body = "".join(f"<p>{part}</p>" for part in parts)
    return f"<title>{title}</title><h1>{title}</h1><div class=text>{body}</div>"


def test_ids_parents_and_hashes_follow_the_contract(tmp_path: Path) -> None:
    html = f"<title>T</title><h1>One</h1><h2>Two</h2><p>{PROSE * 12}</p><h3>Three</h3><p>x</p>"
    built = Crawl.of(tmp_path, {"a": html}).build()
    rows = frame(built).to_dicts()
    assert [row["ordinal"] for row in rows] == list(range(len(rows)))
    one, two, more, three = rows[0], rows[1], rows[2], rows[-1]
    assert one["parent_block_id"] is None
    assert two["parent_block_id"] == one["block_id"]
    assert more["parent_block_id"] == two["block_id"]
    assert three["parent_block_id"] == two["block_id"]
    path = ["One", "Two"]
    assert more["block_id"] == ids.block_id(ids.page_id(HOST + "a"), path, more["text"], 0)
    assert more["input_hash"] == ids.input_hash(inputs.text_input(path, None, more["text"]))
    assert more["path_input_hash"] == ids.input_hash(inputs.path_input("T", path))
    assert built.conservation_failures == []


def test_equal_blocks_of_a_page_are_told_apart(tmp_path: Path) -> None:
    rows = frame(Crawl.of(tmp_path, {"a": "<ul><li><h3>A</h3>x<li><h3>A</h3>x</ul>"}).build())
    assert rows.get_column("text").to_list() == ["A\nx", "A\nx"]
    assert rows.get_column("block_id").n_unique() == 2


def test_every_embedded_string_fits_the_model(tmp_path: Path) -> None:
    site = {
        "a": page("Title", "supercalifragilistic " * 140, "x" * 900),
        "b": "<pre>" + "ab\n" * 400,
    }
    built = Crawl.of(tmp_path, site).build(max_tokens=64)
    rows = frame(built).filter("kept")
    strings = [
        inputs.text_input([head["text"] for head in heads], context, text)
        for heads, context, text in rows.select("heading_path", "context", "text").iter_rows()
    ]
    assert max(count_tokens(strings)) <= 62
    joined = "".join("".join(text.split()) for text in rows.get_column("text"))
    assert joined.count("supercalifragilistic") == 140
    counted = frame(built, "texts")
    assert counted.get_column("tokens").to_list() == count_tokens(counted["text"].to_list())


def test_what_most_pages_repeat_is_template_and_what_few_share_is_not(tmp_path: Path) -> None:
    notice = '<div class="notice"><p>An archived copy of the guide.</p></div>'
    site = {
        f"d/{n}": page(f"Page {n}", f"{PROSE} Number {n}.") + (notice if n < 5 else "")
        + ('<section class="course"><h2>Course</h2>Shared text.</section>' if n < 2 else "")
        for n in range(10)
    }  # fmt: skip
    rows = frame(Crawl.of(tmp_path, site).build())
    reasons = dict(rows.select("text", "drop_reason").unique().iter_rows())
    assert reasons["An archived copy of the guide."] == "repeated"
    assert reasons["Course\nShared text."] is None
    dropped = rows.filter(pl.col("drop_reason") == "repeated")
    assert dropped.height == 5
    assert dropped.get_column("input_hash").null_count() == 5


def test_links_lead_to_the_live_page_behind_redirects_and_duplicates(tmp_path: Path) -> None:
    links = "".join(f'<a href="{path}">to {path}</a>' for path in ("old", "b", "gone", "//x.org/"))
    crawl = Crawl.of(tmp_path, {"a": f"<p>{links}</p>", "b": "<p>b</p>"})
    old, gone = ids.page_id(HOST + "old"), ids.page_id(HOST + "gone")
    extra = crawl.pages.head(2).with_columns(
        page_id=pl.Series([old, gone]),
        key=pl.Series([HOST + "old", HOST + "gone"]),
        url=pl.Series([HOST + "old", HOST + "gone"]),
        final_url=pl.Series([HOST + "b", None]),
        state=pl.Series(["redirected", "gone"]),
        canonical_page_id=pl.Series([ids.page_id(HOST + "b"), None]),
        body_sha256=pl.lit(None, pl.String),
    )
    crawl.pages = pl.concat([crawl.pages, extra])
    found = frame(crawl.build(), "links").select("anchor", "dst_page_id", "region").rows()
    target = ids.page_id(HOST + "b")
    assert found == [
        ("to old", target, "content"), ("to b", target, "content"),
        ("to gone", None, "content"), ("to //x.org/", None, "content"),
    ]  # fmt: skip


def test_lineage_follows_edits_renames_and_moves(tmp_path: Path) -> None:
    edited = "Rooms are let by the month and the rent is due on the first day of it, in cash."
    before = {
        "a": "<h1>T</h1><h2>Rent</h2><p>"
        + edited
        + "</p><h2>Old name</h2><h3>Keys</h3><p>Two.</p>",
        "moved": page("Moved", PROSE * 2),
    }
    after = {
        "a": "<h1>T</h1><h2>Rent</h2><p>" + edited.replace("cash", "euro") + "</p><h2>New name</h2>"
        "<h3>Keys</h3><p>Two.</p><p>" + PROSE * 8 + "</p><h2>New</h2><p>Fresh.</p>",
        "elsewhere": page("Moved", PROSE * 2),
    }
    first = Crawl.of(tmp_path / "1", before)
    built = first.build()
    second = Crawl.of(tmp_path / "2", after).build(Parent(first, built))
    old = {row["text"].split("\n")[0]: row for row in frame(built).to_dicts()}
    new = {row["text"].split("\n")[0]: row for row in frame(second).to_dicts()}
    assert new["Rent"]["block_id"] != old["Rent"]["block_id"]
    for name in ("T", "Rent", "Moved"):
        assert new[name]["lineage_id"] == old[name]["lineage_id"], name
    assert new["New"]["lineage_id"] == new["New"]["block_id"]
    lineages = frame(second).get_column("lineage_id")
    assert lineages.n_unique() == lineages.len()


def test_a_block_that_returns_does_not_take_the_lineage_of_its_successor(tmp_path: Path) -> None:
    text = "Rooms are let by the month and the rent is due on the first day of it, in cash."
    other = text.replace("cash", "euro")
    versions = [[text], [other], [other + PROSE * 9, text]]
    parent: Parent | None = None
    for number, parts in enumerate(versions):
        html = "".join(f'<div class="c{at}"><p>{part}</p></div>' for at, part in enumerate(parts))
        crawl = Crawl.of(tmp_path / str(number), {"a": f"<h1>T</h1>{html}<p>{PROSE * 9}"})
        built = crawl.build(parent)
        lineages = frame(built).get_column("lineage_id")
        assert lineages.n_unique() == lineages.len()
        parent = Parent(crawl, built)


def test_unchanged_pages_are_not_parsed_again_unless_the_configuration_changed(
    tmp_path: Path,
) -> None:
    crawl = Crawl.of(tmp_path, {"a": page("A", PROSE), "b": page("B", PROSE)})
    parent = Parent(crawl, crawl.build())
    assert crawl.build(parent).stats["pages_reused"] == 2
    other = CONFIG.model_copy(update={"max_words": 100})
    assert crawl.build(parent, config=other).stats["pages_reused"] == 0


PART = st.sampled_from([PROSE, PROSE * 11, "Open daily.", "An archived copy.", "x" * 300])
PAGE = st.builds(
    lambda title, parts, links: page(title, *parts, *(f"<a href={to}>to {to}</a>" for to in links)),
    st.sampled_from(["Rooms", "Fees", "Staff"]),
    st.lists(PART, max_size=4),
    st.lists(st.sampled_from("abcdef"), max_size=2),
)  # fmt: skip
SITE = st.dictionaries(st.sampled_from(["a", "b", "c", "d/e", "d/f", "d/g"]), PAGE, max_size=6)


@given(SITE, SITE)
@settings(max_examples=60, deadline=None)
def test_incremental_tables_are_those_of_a_clean_build(
    tmp_path_factory: pytest.TempPathFactory, before: dict[str, str], after: dict[str, str]
) -> None:
    root = tmp_path_factory.mktemp("site")
    first = Crawl.of(root / "1", before)
    # Half of the pages stay: an edit of a site leaves most of it alone.
    kept = {path: html for at, (path, html) in enumerate(sorted(before.items())) if at % 2}
    second = Crawl.of(root / "2", after | kept)
    incremental = second.build(Parent(first, first.build()))
    clean = second.build()
    for name in ("blocks", "links", "texts"):
        left, right = getattr(incremental, name), getattr(clean, name)
        if name == "blocks":
            left, right = left.drop_columns("lineage_id"), right.drop_columns("lineage_id")
        assert left.equals(right), name
    assert incremental.code_version == clean.code_version
    lineages = incremental.blocks["lineage_id"]
    assert len(lineages.unique()) == len(lineages)
