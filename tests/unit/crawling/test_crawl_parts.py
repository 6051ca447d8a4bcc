from __future__ import annotations

import gzip
import zlib
from datetime import UTC, datetime, timedelta

import pytest

from assets.crawling import robots, sitemaps
from assets.crawling.config import CrawlConfig
from assets.crawling.media import kind_of, kind_of_header, kind_of_url
from assets.crawling.outlinks import LinkReader
from assets.crawling.reply import Reply, TooLargeError, TransportError, retry_after
from assets.crawling.urls import UrlRules
from assets.parsing.digest import base_url
from assets.parsing.dom import parse

NOW = datetime(2026, 1, 1, tzinfo=UTC)


# -- robots ------------------------------------------------------------------------------------


def test_robots_names_our_token_before_the_star() -> None:
    rules = robots.read(
        b"User-agent: *\nDisallow: /\n\nUser-agent: sitequest\nDisallow: /private/\n"
        b"Allow: /private/open\nCrawl-delay: 2.5\nSitemap: https://a.edu/map.xml\n"
    )
    assert rules.allows("http://a.edu/")
    assert not rules.allows("http://a.edu/private/x")
    assert rules.allows("http://a.edu/private/open")
    assert rules.crawl_delay == 2.5
    assert rules.sitemaps == ["https://a.edu/map.xml"]


@pytest.mark.parametrize(
    ("status", "allowed"),
    [(404, True), (403, True), (410, True), (429, False), (500, False), (503, False)],
)
def test_robots_status(status: int, allowed: bool) -> None:
    assert robots.from_status(status, b"User-agent: *\nDisallow: /").allows("http://a/") is allowed


def test_robots_of_nonsense_allows() -> None:
    assert robots.read(b"\xef\xbb\xbf<html>\xff\x00not a robots file").allows("http://a.edu/x")
    assert not robots.read(b"\xef\xbb\xbfUser-agent: *\nDisallow: /x").allows("http://a.edu/x")


# -- sitemaps ----------------------------------------------------------------------------------

URLSET = """<?xml version="1.0"?>
<urlset xmlns="http://www.sitemaps.org/schemas/sitemap/0.9"
        xmlns:image="http://www.google.com/schemas/sitemap-image/1.1">
<!-- <url><loc>http://a.edu/commented</loc></url> -->
<url><loc> http://a.edu/1?a=1&amp;b=2 </loc><lastmod>2024-01-01</lastmod>
  <image:image><image:loc>http://a.edu/i.png</image:loc></image:image></url>
<url><loc><![CDATA[http://a.edu/2]]></loc></url>
"""


def test_sitemap_urlset() -> None:
    found = sitemaps.read((URLSET + "</urlset>").encode())
    assert found.pages == [("http://a.edu/1?a=1&b=2", "2024-01-01"), ("http://a.edu/2", None)]
    assert found.broken is None


def test_sitemap_broken_keeps_what_came_before() -> None:
    assert len(sitemaps.read((URLSET + "<url><loc>http://a.edu/3").encode()).pages) >= 2
    unescaped = URLSET.replace("&amp;", "&") + "</urlset>"
    assert ("http://a.edu/2", None) in sitemaps.read(unescaped.encode()).pages


def test_sitemap_gzip_index_and_text() -> None:
    index = (
        "<sitemapindex xmlns='http://www.sitemaps.org/schemas/sitemap/0.9'>"
        "<sitemap><loc>http://a.edu/s1.xml.gz</loc></sitemap></sitemapindex>"
    )
    packed = gzip.compress(index.encode())
    assert sitemaps.read(packed).children == ["http://a.edu/s1.xml.gz"]
    half = sitemaps.read(gzip.compress((URLSET * 50).encode())[:-40])
    assert half.broken == "truncated gzip"
    assert half.pages
    text = sitemaps.read(b"http://a.edu/1\nhttps://a.edu/2\n# note\n")
    assert [page for page, _ in text.pages] == ["http://a.edu/1", "https://a.edu/2"]


@pytest.mark.parametrize("body", [b"", b"hello", b"<html><body>404</body></html>", b"\x1f\x8b\x00"])
def test_sitemap_that_is_none_says_so(body: bytes) -> None:
    found = sitemaps.read(body)
    assert not found.pages
    assert found.broken


def test_sitemap_expands_no_entities() -> None:
    bomb = (
        b"<!DOCTYPE u [<!ENTITY a 'http://a.edu/'><!ENTITY f SYSTEM 'file:///etc/passwd'>]>"
        b"<urlset><url><loc>&a;x</loc></url><url><loc>&f;</loc></url></urlset>"
    )
    assert all("root" not in page for page, _ in sitemaps.read(bomb).pages)


# -- media -------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("header", "body", "kind"),
    [
        ("text/html; charset=utf-8", b"<p>x", "html"),
        ("application/xhtml+xml", b"<html/>", "html"),
        ("text/html", b"%PDF-1.7 ...", "pdf"),
        ("text/html", b"\x89PNG\r\n", "image"),
        ("text/html", b"GIF89a\x00", "image"),
        ("text/html", b"abc\x00\x01\x02", "binary"),
        ("text/html", b"\xff\xfe<\x00p\x00", "html"),
        ("text/html; charset=utf-16le", b"<\x00p\x00", "html"),
        ("application/pdf", b"<html>", "pdf"),
        ("application/octet-stream", b"  <!DOCTYPE HTML><p>", "html"),
        (None, b"<html>", "html"),
        (None, b"hello", "unknown"),
        ("text/plain", b"<html>", "text"),
        ("application/json", b"{}", "json"),
        ("application/vnd.ms-excel", b"x", "office"),
        ("application/x-strange", b"x", "application/x-strange"),
    ],
)
def test_kind(header: str | None, body: bytes, kind: str) -> None:
    assert kind_of(header, body) == kind


def test_kind_of_url_judges_no_query_and_no_page() -> None:
    assert kind_of_url("http://a.edu/x.PDF") == "pdf"
    assert kind_of_url("http://a.edu/x.pdf?page=1") is None
    for url in ("http://a.edu/x.html", "http://a.edu/v1.2/", "http://a.edu/x.php", "http://a.edu"):
        assert kind_of_url(url) is None
    assert kind_of_header("") is None


# -- replies -----------------------------------------------------------------------------------


def test_retry_after_both_forms() -> None:
    assert retry_after("120", NOW) == 120
    date = (NOW + timedelta(seconds=90)).strftime("%a, %d %b %Y %H:%M:%S GMT")
    assert retry_after(date, NOW) == 90
    assert retry_after("Thu, 01 Jan 1970 00:00:00 GMT", NOW) == 0
    for nonsense in (None, "", "soon", "-5", "1.5", "²"):
        assert retry_after(nonsense, NOW) is None


def test_decoding_is_bounded() -> None:
    body = b"x" * 1000
    for coding, data in (("gzip", gzip.compress(body)), ("deflate", zlib.compress(body)),
                         ("", body)):  # fmt: skip
        assert Reply(200, {"content-encoding": coding}, data).decoded(1000) == body
    bomb = Reply(200, {"content-encoding": "gzip"}, gzip.compress(b"0" * 5_000_000))
    with pytest.raises(TooLargeError):
        bomb.decoded(1_000_000)
    for coding, data in (("gzip", gzip.compress(body)[:-9]), ("gzip", b"plain"), ("br", b"x")):
        with pytest.raises(TransportError):
            Reply(200, {"content-encoding": coding}, data).decoded(1000)


# -- links -------------------------------------------------------------------------------------


def test_links_are_resolved_public_distinct_and_in_scope() -> None:
    config = CrawlConfig(
        seeds=["https://a.edu/"], host_map={"a.edu": "http://127.0.0.1:9"}, hosts=["a.edu"]
    )
    html = b"""<base href="/base/"><a href="x?b=1#f">1</a><a href="x?b=1">same</a>
      <a href="#top">no</a><a href="mailto:a@a.edu">no</a><a rel="nofollow" href="/nf">2</a>
      <a href="http://127.0.0.1:9/served">3</a><a href="//a.edu/rel">4</a>
      <a href="http://other.org/">no</a><map><area href="area.html"></map>
      <a href=" /spaced
      out ">5</a><a href="http://[bad/">no</a><link href="/style.css"><img src="/i.png">"""
    tree = parse(html.decode())
    found = LinkReader(UrlRules(config)).read(tree, base_url(tree, "https://a.edu/deep/page"))
    assert found == [
        "https://a.edu/base/x?b=1", "https://a.edu/nf", "https://a.edu/served",
        "https://a.edu/rel", "https://a.edu/base/area.html",
        "https://a.edu/spaced%20%20%20%20%20%20out",
    ]  # fmt: skip
