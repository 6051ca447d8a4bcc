"""What changed, page by page: on the small college in its two versions, and after a move."""

from __future__ import annotations

from pathlib import Path

from retrieval.snapshot.pagechanges import page_changes
from tests.support.built import build_site
from tests.support.tiny_site import pages


def test_edited_added_and_removed_pages(tmp_path: Path) -> None:
    first = pages(1)
    second = {path: html for path, html in pages(2).items() if path != "/people"}
    second["/news"] = "<title>News</title><main><h1>News</h1><p>The moss fair is in May.</p></main>"
    before = build_site(tmp_path, "alder", first, label="v1")
    after = build_site(tmp_path, "alder", second, label="v2")
    changes = {
        change.url.partition(".example")[2]: change for change in page_changes(before, after)
    }
    assert changes["/news"].kind == "added"
    assert changes["/news"].removed == []
    fees = changes["/fees"]
    assert fees.kind == "edited"
    assert any("£9,150" in text for text in fees.removed)
    assert any("£9,480" in text for text in fees.added)
    assert changes["/people"].kind == "removed"
    assert "/library" not in changes


def test_a_snapshot_does_not_differ_from_itself(tmp_path: Path) -> None:
    snapshot = build_site(tmp_path, "alder", pages(1), label="v1")
    assert page_changes(snapshot, snapshot) == []
