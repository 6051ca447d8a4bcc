"""The main job on the demo site: two syncs, tables with content, answers that follow the site."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import polars as pl
import pytest

from pipelines.demo.showcase import CHANGED, SHOWCASE
from pipelines.settings import load_settings
from pipelines.sync import sync
from retrieval import open_index
from retrieval.snapshot.reader import SiteStore, open_dir, verify
from retrieval.snapshot.schemas import TABLES
from tests.integration.demo_index import DemoIndex, demo_index

__all__ = ["demo_index"]


def test_both_syncs_are_published(demo_index: DemoIndex) -> None:
    assert [demo_index.first.status, demo_index.second.status] == ["published", "published"]
    store = SiteStore(demo_index.settings.root, demo_index.site)
    assert store.latest().id == demo_index.second.manifest.id
    assert demo_index.second.manifest.parent == demo_index.first.manifest.id
    assert [m.label for m in store.list()] == ["v1", "v2"]
    assert not list(store.paths.staging.glob("*"))


@pytest.mark.parametrize("name", sorted(TABLES))
def test_every_table_has_content_and_its_schema(demo_index: DemoIndex, name: str) -> None:
    snapshot = open_dir(demo_index.second.directory)
    table = snapshot.table(name)
    assert table.height > 0
    assert table.columns == TABLES[name].schema.names
    assert snapshot.manifest.tables[name].rows == table.height


def test_page_states(demo_index: DemoIndex) -> None:
    pages = open_dir(demo_index.first.directory).table("pages")
    states = dict(pages.group_by("state").len().iter_rows())
    # 76 pages less the duplicate and the two that robots.txt forbids.
    assert states["live"] == 73
    assert states["duplicate"] >= 1
    assert states["blocked"] == 2
    second = open_dir(demo_index.second.directory).table("pages")
    states = dict(second.group_by("state").len().iter_rows())
    assert states["live"] == 75
    assert states["gone"] >= 2


def test_what_robots_txt_forbids_is_never_requested(demo_index: DemoIndex) -> None:
    asked = [entry.path for entry in demo_index.server.requests()]
    assert asked
    assert not [path for path in asked if path.startswith(("/search/", "/internal/"))]


def test_snapshot_files_are_as_published(demo_index: DemoIndex) -> None:
    for report in (demo_index.first, demo_index.second):
        assert verify(open_dir(report.directory)) == []


def test_each_distinct_string_is_embedded_once(demo_index: DemoIndex) -> None:
    first, second = demo_index.first.stages["vectors"], demo_index.second.stages["vectors"]
    assert first.counts["inputs_embedded"] == first.counts["inputs"]
    reused = second.counts["inputs"] - second.counts["inputs_embedded"]
    assert reused > 0.8 * second.counts["inputs"]
    snapshot = open_dir(demo_index.second.directory)
    assert snapshot.lance().count_rows() == second.counts["inputs"]


def test_a_template_change_touches_no_kept_text(demo_index: DemoIndex) -> None:
    """v2 changes the bytes of every page; a page without an edit keeps its texts to the letter."""
    before, after = open_dir(demo_index.first.directory), open_dir(demo_index.second.directory)
    bodies = before.table("pages", ["page_id", "body_sha256"]).join(
        after.table("pages", ["page_id", "body_sha256"]), on="page_id", suffix="_after"
    )
    assert bodies.filter(pl.col("body_sha256") == pl.col("body_sha256_after")).is_empty()
    kept = ["page_id", "text_hash"]
    old, new = (s.table("blocks").filter("kept").select(kept) for s in (before, after))
    edited = {page for page, _ in new.join(old, on=kept, how="anti").iter_rows()}
    shared = set(bodies["page_id"])
    assert 0 < len(edited & shared) < 0.5 * len(shared)


@pytest.mark.parametrize(("mode", "question"), sorted(SHOWCASE.items()))
def test_the_router_finds_the_mode_of_each_showcase_question(
    demo_index: DemoIndex, mode: str, question: str
) -> None:
    index = open_index(demo_index.settings.root, demo_index.site, as_of="v1")
    answer = index.ask(question)
    assert (answer.mode, answer.abstained) == (mode, False)
    snapshot = open_dir(demo_index.first.directory)
    texts = dict(snapshot.table("texts", ["text_hash", "text"]).iter_rows())
    blocks = {r["block_id"]: r for r in snapshot.table("blocks").iter_rows(named=True)}
    for claim in answer.claims:
        for citation in claim.citations:
            block = blocks[citation.block_id]
            quoted = " ".join(citation.quote.split())
            assert quoted in " ".join(texts[block["text_hash"]].split())
            assert block["lineage_id"] == citation.lineage_id
            assert [h["text"] for h in block["heading_path"]] == citation.heading_path


def test_an_answer_follows_the_site_and_the_old_one_stays(demo_index: DemoIndex) -> None:
    index = open_index(demo_index.settings.root, demo_index.site)
    new, old = index.ask(CHANGED), index.ask(CHANGED, as_of="v1")
    assert "Achterberg" in new.answer
    assert "Solheim" in old.answer
    assert old.snapshot_id == demo_index.first.manifest.id
    assert new.snapshot_id == demo_index.second.manifest.id


def test_nothing_changed_publishes_nothing(demo_index: DemoIndex, tmp_path: Path) -> None:
    root = _copy(demo_index, tmp_path)
    report = sync(load_settings(root / "sites.yaml"), demo_index.site)
    assert report.status == "unchanged"
    assert report.manifest.id == demo_index.second.manifest.id
    assert not list((root / demo_index.site / "staging").glob("*"))


def test_a_candidate_that_loses_too_much_is_held(demo_index: DemoIndex, tmp_path: Path) -> None:
    """A configuration that cuts most of the site off trips the brake; LATEST stays."""
    root = _copy(demo_index, tmp_path)
    config = root / "sites.yaml"
    config.write_text(config.read_text() + '    scope: {exclude: ["^/(people|programmes|news)"]}\n')
    report = sync(load_settings(config), demo_index.site)
    store = SiteStore(root, demo_index.site)
    assert report.status == "held"
    assert "drift_drop" in (report.manifest.verdict.reason if report.manifest.verdict else "")
    assert store.latest().id == demo_index.second.manifest.id
    assert report.directory.parent == store.paths.held
    done = demo_index.cli("status", "--json", config=config)
    assert json.loads(done.stdout)[0]["held"] == [report.manifest.id]


def _copy(demo_index: DemoIndex, target: Path) -> Path:
    """Copy the demo's data root, so that a test may change it."""
    root = target / "root"
    shutil.copytree(
        demo_index.config.parent, root, ignore=shutil.ignore_patterns("dagster", "*.lock")
    )
    return root


def test_the_changes_table_names_what_the_diff_finds(demo_index: DemoIndex) -> None:
    from retrieval.snapshot.diff import diff

    before, after = open_dir(demo_index.first.directory), open_dir(demo_index.second.directory)
    found = diff(before, after, ["facts", "blocks"])
    kept = after.table("changes").filter(pl.col("table").is_in(["facts", "blocks"]))
    assert found.sort("table", "key").equals(kept.sort("table", "key"))
