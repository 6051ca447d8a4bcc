"""The embedded demo site: its pages, links, versions, and the gold of its questions."""

from __future__ import annotations

import gzip
import json
import re
from typing import Any
from urllib.parse import urljoin, urlsplit

import pytest
from selectolax.lexbor import LexborHTMLParser

from pipelines.demo.content import ContentError, load_content
from pipelines.demo.showcase import CHANGED, SHOWCASE
from pipelines.demo.site import (
    DISALLOWED,
    HOST,
    QUESTIONS_PATH,
    VERSIONS,
    DemoSource,
    page_name,
)
from pipelines.siteserver.source import Redirect, Resource

SOURCE = DemoSource()
QUESTIONS = [json.loads(line) for line in QUESTIONS_PATH.read_text("utf-8").splitlines()]
IDS = [question["id"] for question in QUESTIONS]


def squeeze(text: str) -> str:
    return "".join(text.split())


def resource(version: str, target: str) -> Resource:
    found = SOURCE.lookup(version, target)
    assert isinstance(found, Resource), (version, target, found)
    return found


def parse(version: str, target: str) -> LexborHTMLParser:
    body = resource(version, target).body
    declared = re.search(rb'<meta charset="([^"]+)"', body)
    assert declared is not None
    return LexborHTMLParser(body.decode(declared[1].decode()))


def text_of(version: str, target: str) -> str:
    body = parse(version, target).body
    assert body is not None
    return squeeze(body.text())


def main_of(version: str, target: str) -> str:
    main = parse(version, target).css_first("main")
    assert main is not None
    return squeeze(main.text())


def target_of(page: str) -> str:
    return "/" + re.sub(r"(^|/)index\.html", r"\1", page)


def links(version: str, target: str) -> set[str]:
    """Return the internal link targets of a page, fragments removed."""
    out = set()
    for node in parse(version, target).css("a[href], form[action]"):
        href = node.attributes.get("href") or node.attributes.get("action") or ""
        if href.startswith("#"):
            continue
        parts = urlsplit(urljoin(f"https://{HOST}{target}", href))
        if parts.scheme == "https" and parts.netloc == HOST:
            out.add(parts.path + (f"?{parts.query}" if parts.query else ""))
    return out


def gold(version: str) -> list[tuple[str, dict[str, Any]]]:
    return [(q["id"], q["by_version"][version]) for q in QUESTIONS if q["by_version"][version]]


@pytest.mark.parametrize("version", VERSIONS)
def test_number_of_pages(version: str) -> None:
    assert 55 <= len(SOURCE.html_paths(version)) <= 80
    assert len([p for p in SOURCE.html_paths(version) if p.startswith("/people/")]) >= 13


@pytest.mark.parametrize("version", VERSIONS)
def test_every_internal_link_resolves(version: str) -> None:
    broken = set()
    for page in SOURCE.html_paths(version):
        for target in links(version, page):
            found = SOURCE.lookup(version, target)
            if isinstance(found, Redirect):
                assert isinstance(SOURCE.lookup(version, found.location), Resource), found
            if found is None:
                broken.add(target)
    assert broken == set(SOURCE.content(version).site["known_broken"])


@pytest.mark.parametrize("version", VERSIONS)
def test_disallowed_pages_are_linked_and_stay_out_of_the_sitemaps(version: str) -> None:
    robots = resource(version, "/robots.txt").body.decode()
    linked = set().union(*(links(version, page) for page in SOURCE.html_paths(version)))
    for prefix in DISALLOWED:
        assert f"Disallow: {prefix}\n" in robots
        assert prefix in linked
    assert not [path for path in sitemap(version) if path.startswith(DISALLOWED)]


def sitemap(version: str) -> set[str]:
    robots = resource(version, "/robots.txt").body.decode()
    start = re.search(rf"Sitemap: https://{re.escape(HOST)}(\S+)", robots)
    assert start is not None
    loc = re.compile(rf"<loc>https://{re.escape(HOST)}([^<]+)</loc>")
    children = loc.findall(resource(version, start[1]).body.decode())
    assert len(children) >= 2
    assert any(child.endswith(".xml.gz") for child in children)
    out: set[str] = set()
    for child in children:
        body = resource(version, child).body
        out |= set(loc.findall((gzip.decompress(body) if child.endswith(".gz") else body).decode()))
    return out


@pytest.mark.parametrize("version", VERSIONS)
def test_sitemap_names_existing_pages_and_one_that_nothing_links_to(version: str) -> None:
    listed = sitemap(version)
    assert all(isinstance(SOURCE.lookup(version, path), Resource) for path in listed)
    linked = set().union(*(links(version, page) for page in SOURCE.html_paths(version)))
    assert "/about/records-retention/" in listed - linked


@pytest.mark.parametrize("version", VERSIONS)
def test_addresses(version: str) -> None:
    assert SOURCE.lookup(version, "/prospectus") == Redirect("/programmes/", 301)
    assert SOURCE.lookup(version, "/apply") == Redirect("/study/apply/", 302)
    assert SOURCE.lookup(version, "/people") == Redirect("/people/", 301)
    assert SOURCE.lookup(version, "/people/index.html") == Redirect("/people/", 301)
    assert SOURCE.lookup(version, "/no/such/page") is None
    assert SOURCE.lookup(version, "/people/?utm_source=x") == SOURCE.lookup(version, "/people/")
    assert SOURCE.lookup(version, "/news/?page=1") == SOURCE.lookup(version, "/news/")
    assert SOURCE.lookup(version, "/news/?page=2&utm_source=x") != SOURCE.lookup(version, "/news/")
    assert SOURCE.lookup(version, "/news/?page=9") is None
    assert resource(version, "/visit.html") == resource(version, "/museum/visit/")
    assert resource(version, "/files/campus-map.pdf").content_type == "application/pdf"
    assert f'rel="canonical" href="https://{HOST}/museum/visit/"'.encode() in (
        resource(version, "/visit.html").body
    )


@pytest.mark.parametrize("version", VERSIONS)
def test_page_in_an_older_encoding(version: str) -> None:
    page = resource(version, "/study/exchange.html")
    assert page.content_type == "text/html"
    assert "Łucja Wiśniewska".encode("iso-8859-2") in page.body
    with pytest.raises(UnicodeDecodeError):
        page.body.decode()


def test_changes_between_the_versions() -> None:
    content = SOURCE.content("v2")
    assert len(content.removed) >= 2
    assert len(content.added) >= 3
    for path in content.removed:
        resource("v1", path)
        assert SOURCE.lookup("v2", path) is None
    for path in content.added:
        resource("v2", path)
        assert SOURCE.lookup("v1", path) is None
    for old, new in content.moved.items():
        assert SOURCE.lookup("v2", old) == Redirect(new, 301)
        assert main_of("v1", old) == main_of("v2", new)
    for path in content.edited:
        assert main_of("v1", path) != main_of("v2", path)


def test_template_change_alters_bytes_and_not_the_content() -> None:
    content = SOURCE.content("v2")
    # the directory is made from the profiles, the other address of a page from that page
    edited = {*content.edited, "/people/", "/visit.html"}
    common = set(SOURCE.html_paths("v1")) & set(SOURCE.html_paths("v2"))
    for path in common:
        old, new = resource("v1", path), resource("v2", path)
        assert old.body != new.body
        assert old.last_modified < new.last_modified
        if path not in edited:
            assert main_of("v1", path) == main_of("v2", path)
    labels = [{item["label"] for item in SOURCE.content(v).site["menu"]} for v in VERSIONS]
    assert labels[0] < labels[1]


@pytest.mark.parametrize("version", VERSIONS)
def test_rendering_is_deterministic(version: str) -> None:
    other = DemoSource()
    assert other.paths(version) == SOURCE.paths(version)
    for path in SOURCE.paths(version):
        assert other.lookup(version, path) == SOURCE.lookup(version, path)


def test_unknown_version_is_refused() -> None:
    with pytest.raises(ContentError, match="unknown version"):
        load_content("v9")
    with pytest.raises(KeyError, match="v9"):
        SOURCE.lookup("v9", "/")


@pytest.mark.parametrize("version", VERSIONS)
def test_evidence_stands_on_its_page(version: str) -> None:
    for name, rows in gold(version):
        for row in rows["evidence"]:
            for page in [row["page"], *row.get("also_on", [])]:
                target = target_of(page)
                assert page_name(target) == page
                assert squeeze(row["text"]) in text_of(version, target), (name, page)
                assert not target.startswith(DISALLOWED)


@pytest.mark.parametrize("version", VERSIONS)
def test_headings_of_the_evidence_stand_on_its_page_in_order(version: str) -> None:
    for name, rows in gold(version):
        for row in rows["evidence"]:
            nodes = parse(version, target_of(row["page"])).css("h1, h2, h3, h4, h5, h6")
            titles = iter([" ".join(node.text().split()) for node in nodes])
            assert all(heading in titles for heading in row["heading_path"]), (name, row)


@pytest.mark.parametrize("version", VERSIONS)
def test_every_answer_part_is_in_the_evidence(version: str) -> None:
    for name, rows in gold(version):
        said = squeeze(
            " ".join(" ".join([*e["heading_path"], e["text"]]) for e in rows["evidence"])
        ).casefold()
        assert rows["answers"], name
        for part in rows["answers"]:
            polar = {"yes", "no"} & {variant.casefold() for variant in part}
            assert polar or any(squeeze(v).casefold() in said for v in part), (name, part)


@pytest.mark.parametrize("version", VERSIONS)
def test_hidden_text_is_on_the_site_and_never_evidence(version: str) -> None:
    hidden = [
        squeeze(node.text())
        for page in SOURCE.html_paths(version)
        for node in parse(version, page).css('[style*="display:none"]')
    ]
    assert len(hidden) >= 2
    for _, rows in gold(version):
        for row in rows["evidence"]:
            assert not any(squeeze(row["text"]) in junk for junk in hidden)


def test_mix_of_questions() -> None:
    assert len(set(IDS)) == len(QUESTIONS) >= 60
    versions = [question["by_version"] for question in QUESTIONS]
    both = [v for v in versions if v["v1"] and v["v2"]]
    assert len([v for v in both if v["v1"]["answers"] != v["v2"]["answers"]]) >= 8
    assert len([v for v in versions if not v["v1"] and not v["v2"]]) >= 12
    assert len([v for v in versions if bool(v["v1"]) != bool(v["v2"])]) >= 4
    for mode in "ABC":
        assert len([q for q in QUESTIONS if q["expected_mode"] == mode]) >= 12
    for question in QUESTIONS:
        nowhere = not any(question["by_version"].values())
        assert (question["type"] == "unanswerable") == nowhere, question["id"]


def test_showcase_questions_have_gold() -> None:
    by_text = {question["question"]: question for question in QUESTIONS}
    modes = [by_text[text]["expected_mode"] for text in SHOWCASE.values()]
    assert modes == ["A", "B", "C"]
    changed = by_text[CHANGED]["by_version"]
    assert changed["v1"]["answers"] != changed["v2"]["answers"]
