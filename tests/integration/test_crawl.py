"""Crawls of a real server by the real subprocess: what is found, what is not asked for, states."""

from __future__ import annotations

import gzip
from collections.abc import Callable
from datetime import UTC, datetime
from itertools import pairwise
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from assets.crawling.config import CrawlConfig
from assets.crawling.pages import build_pages
from assets.crawling.run import CrawlError, CrawlReport, crawl
from pipelines.siteserver.faults import Fault
from pipelines.siteserver.server import SiteServer
from pipelines.siteserver.source import DirectorySource, Redirect, Resource
from retrieval.snapshot.bodies import Bodies
from retrieval.snapshot.layout import SitePaths

Serve = Callable[..., SiteServer]
HOST = "www.example.edu"
PATIENCE = {"backoff_seconds": 0.05, "confirm_gone_seconds": 0.1, "timeout_seconds": 5}


def page(text: str, *links: str, head: str = "") -> str:
    anchors = "".join(f'<a href="{link}">{link}</a> ' for link in links)
    return f"<html><head><title>{text}</title>{head}</head><body><p>{text}</p>{anchors}</body>"


class Site:
    """A site under test: crawls it into one data root, snapshot after snapshot."""

    def __init__(self, root: Path, server: SiteServer, **settings: Any) -> None:
        self.server = server
        self.paths = SitePaths(root, "test")
        self.config = CrawlConfig(
            **{
                "seeds": [f"http://{HOST}/"],
                "host_map": {HOST: server.url},
                **PATIENCE,
                **settings,
            }
        )
        self.pages: pl.DataFrame | None = None
        self.report: CrawlReport | None = None
        self.crawls = 0

    def crawl(self, **settings: Any) -> pl.DataFrame:
        self.crawls += 1
        config = self.config.model_copy(update=settings)
        self.server.clear_requests()
        self.report = crawl(config, self.paths, f"c{self.crawls}", self.pages, None)
        now = datetime(2026, 1, self.crawls, tzinfo=UTC)
        table = build_pages(self.report.journal, self.pages, now=now, config=config)
        frame = pl.from_arrow(table)
        assert isinstance(frame, pl.DataFrame)
        self.pages = frame
        return frame

    def states(self) -> dict[str, str]:
        assert self.pages is not None
        return {url.split(HOST)[1]: state for url, state in self.pages["url", "state"].iter_rows()}

    def row(self, path: str) -> dict[str, Any]:
        assert self.pages is not None
        return self.pages.row(by_predicate=pl.col("url") == f"http://{HOST}{path}", named=True)

    def asked(self) -> list[str]:
        return [entry.target for entry in self.server.requests()]


def test_a_first_crawl_finds_everything_it_may(tmp_path: Path, serve_site: Serve) -> None:
    latin = Resource(
        page("Ärzte und Käse").encode("windows-1252"), "text/html; charset=windows-1252",
        datetime(2026, 1, 1, tzinfo=UTC),
    )  # fmt: skip
    index = (
        f"<sitemapindex><sitemap><loc>http://{HOST}/maps/1.xml.gz</loc></sitemap></sitemapindex>"
    )
    urls = "".join(
        f"<url><loc>{u}</loc></url>" for u in (f"http://{HOST}/only-in-sitemap", "http://x.org/")
    )
    server = serve_site(
        {
            "/robots.txt": f"User-agent: *\nDisallow: /trap/\nSitemap: http://{HOST}/maps/all.xml",
            "/maps/all.xml": index,
            "/maps/1.xml.gz": gzip.compress(f"<urlset>{urls}".encode()),
            "/": page("Home", "/a", "/trap/1", "/index.html", "/old", "/doc.pdf", "/report",
                      "http://elsewhere.org/", "/gone", "/canon?view=print", "/moved/far",
                      "/a?utm_source=x", "/a#part", "/shell", "/latin", "/refresh", "/out"),
            "/index.html": page("Home", "/a", "/trap/1", "/index.html", "/old", "/doc.pdf",
                      "/report", "http://elsewhere.org/", "/gone", "/canon?view=print",
                      "/moved/far", "/a?utm_source=x", "/a#part", "/shell", "/latin", "/refresh",
                      "/out"),
            "/a": page("A", "b/", head='<base href="/deep/">'),
            "/deep/b/": page("B", "{served}/c"),
            "/c": page("C"),
            "/old": Redirect("/c", 301),
            "/out": Redirect("http://elsewhere.org/x", 302),
            "/moved/far": Redirect(f"http://{HOST}/old", 302),
            "/report": Resource(b"%PDF-1.4", "text/html", datetime(2026, 1, 1, tzinfo=UTC)),
            "/canon": page("Canon"),
            "/canon?view=print": page("Canon", head='<link rel="canonical" href="/canon">'),
            "/shell": Resource(b"  ", "text/html", datetime(2026, 1, 1, tzinfo=UTC)),
            "/latin": latin,
            "/refresh": page("Go", head='<meta http-equiv="refresh" content="0; url=/c">'),
            "/only-in-sitemap": page("Map"),
        }
    )  # fmt: skip
    pages = server.source._pages["v1"]  # type: ignore[attr-defined]
    pages["/deep/b/"] = pages["/deep/b/"].replace("{served}", server.url)
    site = Site(tmp_path, server)
    frame = site.crawl()
    assert site.states() == {
        "/": "live", "/a": "live", "/trap/1": "blocked", "/index.html": "duplicate",
        "/old": "redirected", "/doc.pdf": "skipped", "/report": "skipped", "/gone": "gone",
        "/canon?view=print": "duplicate", "/canon": "live", "/moved/far": "redirected",
        "/shell": "skipped", "/latin": "live", "/refresh": "redirected", "/deep/b/": "live",
        "/c": "live", "/only-in-sitemap": "live", "/out": "redirected",
    }  # fmt: skip
    hosts = {entry.host for entry in server.requests()}
    assert hosts == {HOST}
    asked = site.asked()
    assert not [target for target in asked if target.startswith(("/trap", "/doc.pdf"))]
    assert len(asked) == len(set(asked)), "nothing is asked for twice"
    assert all("sitequest" in entry.user_agent for entry in server.requests())
    c = site.row("/c")
    for path, reason in (("/old", "redirect"), ("/moved/far", "redirect"),
                         ("/refresh", "meta refresh")):  # fmt: skip
        row = site.row(path)
        assert (row["canonical_page_id"], row["reason"]) == (c["page_id"], reason)
        assert row["final_url"] == f"http://{HOST}/c"
    assert site.row("/out")["reason"].startswith("redirects out of scope")
    assert site.row("/canon?view=print")["canonical_page_id"] == site.row("/canon")["page_id"]
    assert site.row("/report")["reason"] == "pdf"
    assert site.row("/latin")["encoding"] == "windows-1252"
    assert site.row("/latin")["title"] == "Ärzte und Käse"
    depths = {path: site.row(path)["depth"] for path in ("/", "/a", "/deep/b/", "/c")}
    assert depths == {"/": 0, "/a": 1, "/deep/b/": 2, "/c": 1}
    lone = site.row("/only-in-sitemap")
    assert (lone["depth"], lone["in_sitemap"], lone["linked"]) == (None, True, False)
    held = set(frame["body_sha256"].drop_nulls())
    stored = Bodies(site.paths.bodies).known()
    assert held <= stored
    assert len(stored - held) == 1, "only the page that refreshes elsewhere has a body and no row"
    assert site.report is not None
    assert site.report.peak_rss_mb > 0
    assert site.report.requests == len(asked)


VERSION_1 = {
    "/": page("Home", "/stays", "/edited", "/deleted", "/unlinked", "/down", "/moves", "/flaky"),
    "/stays": page("Stays", "/only-from-stays"),
    "/only-from-stays": page("Leaf"),
    "/edited": page("Before"),
    "/deleted": page("Deleted"),
    "/unlinked": page("Unlinked"),
    "/down": page("Down", "/only-from-down"),
    "/only-from-down": page("Below down"),
    "/moves": page("Moves"),
    "/flaky": page("Flaky"),
}
VERSION_2 = {
    **VERSION_1,
    "/": page("Home", "/stays", "/edited", "/deleted", "/down", "/moves", "/flaky", "/new"),
    "/edited": page("After"),
    "/moves": Redirect("/new", 301),
    "/new": page("Moves, here"),
}
del VERSION_2["/deleted"]


def test_a_second_crawl_changes_only_what_changed(tmp_path: Path, serve_versions: Serve) -> None:
    server = serve_versions({"v1": VERSION_1, "v2": VERSION_2})
    site = Site(tmp_path, server, retries=1)
    first = site.crawl()
    assert set(site.states().values()) == {"live"}
    old = {path: site.row(path) for path in VERSION_1}

    again = site.crawl()
    assert site.report is not None
    assert site.report.counts == {"unchanged": 10}
    assert first.equals(again), "a crawl of an unchanged site gives the same table"
    assert not list(site.paths.bodies.glob("c2*"))

    server.set_version("v2")
    server.set_faults(
        Fault(kind="status", path="^/down$"),
        Fault(kind="status", path="^/flaky$", status=404, count=1),
    )
    site.crawl()
    assert site.states() == {
        "/": "live", "/stays": "live", "/only-from-stays": "live", "/edited": "live",
        "/deleted": "gone", "/unlinked": "unlinked", "/down": "unreachable",
        "/only-from-down": "live", "/moves": "redirected", "/flaky": "live", "/new": "live",
    }  # fmt: skip
    assert site.asked().count("/deleted") == 2, "gone is confirmed"
    down = site.row("/down")
    assert (down["status"], down["reason"]) == (503, "HTTP 503")
    kept = ("title", "body_sha256", "content_hash", "etag", "last_changed", "fetched_at")
    assert [down[name] for name in kept] == [old["/down"][name] for name in kept]
    assert site.row("/deleted")["body_sha256"] is None
    assert site.row("/deleted")["first_seen"] == old["/deleted"]["first_seen"]
    edited = site.row("/edited")
    assert edited["last_changed"] == datetime(2026, 1, 3, tzinfo=UTC)
    assert edited["first_seen"] == datetime(2026, 1, 1, tzinfo=UTC)
    assert site.row("/stays")["last_changed"] == datetime(2026, 1, 1, tzinfo=UTC)
    unlinked = site.row("/unlinked")
    assert not unlinked["linked"]
    assert unlinked["body_sha256"] == old["/unlinked"]["body_sha256"]

    server.set_faults()
    site.crawl(max_pages=3)
    assert site.report.budget == "max_pages"
    states = site.states()
    assert states["/unlinked"] == "unlinked", "a partial crawl infers nothing"
    assert states["/only-from-down"] == "live"
    assert states["/deleted"] == "gone"

    site.crawl()
    states = site.states()
    assert states["/down"] == "live"
    assert states["/deleted"] == "gone"


def test_faults_are_survived(tmp_path: Path, serve_site: Serve) -> None:
    names = ["busy", "dated", "reset", "cut", "loop", "far", "huge", "slow", "dead", "bomb"]
    server = serve_site({"/": page("Home", *(f"/{n}" for n in names)),
                         **{f"/{n}": page(n) for n in names}})  # fmt: skip
    server.set_faults(
        Fault(kind="status", path="^/busy$", count=2, retry_after=1),
        Fault(kind="status", path="^/dated$", count=1, retry_after=1, retry_after_form="date"),
        Fault(kind="reset", path="^/reset$", count=2),
        Fault(kind="reset", path="^/cut$", size=50_000, count=1),
        Fault(kind="loop", path="^/loop$", hops=3),
        Fault(kind="loop", path="^/far$", hops=100),
        Fault(kind="huge", path="^/huge$", size=30_000_000),
        Fault(kind="latency", path="^/slow$", seconds=30),
        Fault(kind="reset", path="^/dead$"),
    )
    site = Site(tmp_path, server, retries=2, timeout_seconds=1, max_body_bytes=1_000_000)
    site.crawl()
    states = site.states()
    assert [states[f"/{n}"] for n in ("busy", "dated", "reset", "cut")] == ["live"] * 4
    assert (states["/huge"], states["/slow"], states["/dead"]) == (
        "skipped", "unreachable", "unreachable",
    )  # fmt: skip
    assert site.row("/huge")["reason"].startswith("larger than")
    assert "no answer in 1 s" in site.row("/slow")["reason"]
    assert site.row("/loop")["reason"] == "redirect loop"
    assert states["/loop"] == "skipped"
    assert "too many redirects" in site.row("/far")["reason"]
    asked = site.asked()
    assert asked.count("/busy") == 3
    # Each of three tries may be two on the wire: a kept connection that breaks is tried afresh.
    assert 3 <= asked.count("/dead") <= 6
    assert sum(target.startswith("/far") for target in asked) <= site.config.max_redirects + 1
    times = [entry.at for entry in server.requests() if entry.path == "/busy"]
    assert all(later - sooner >= 0.9 for sooner, later in pairwise(times))
    assert site.report is not None
    assert site.report.bytes < 10_000_000, "a huge body is not read to its end"


def test_crawl_delay_spaces_requests(tmp_path: Path, serve_site: Serve) -> None:
    server = serve_site({
        "/robots.txt": "User-agent: sitequest\nCrawl-delay: 60",
        "/": page("Home", "/a", "/b"), "/a": page("A"), "/b": page("B"),
    })  # fmt: skip
    site = Site(tmp_path, server, crawl_delay_cap_seconds=0.4, sitemaps=False)
    site.crawl()
    times = [entry.at for entry in server.requests() if entry.path != "/robots.txt"]
    assert len(times) == 3
    assert all(later - sooner > 0.3 for sooner, later in pairwise(times))


def test_filters_and_depth(tmp_path: Path, serve_site: Serve) -> None:
    server = serve_site({
        "/": page("Home", "/keep/1", "/drop/1"), "/keep/1": page("K1", "/keep/2"),
        "/keep/2": page("K2", "/keep/3"), "/keep/3": page("K3"), "/drop/1": page("D"),
    })  # fmt: skip
    site = Site(tmp_path, server, exclude=["^/drop/"], max_depth=2)
    site.crawl()
    assert site.row("/drop/1")["reason"] == "excluded by configuration"
    assert site.row("/keep/3")["reason"] == "deeper than max_depth"
    assert not {"/drop/1", "/keep/3"} & set(site.asked())


@pytest.mark.parametrize(
    ("robots", "says"),
    [
        ("User-agent: *\nDisallow: /", "forbids every page"),
        (Redirect("http://elsewhere.org/robots.txt", 301), "redirects out of scope"),
    ],
)
def test_robots_that_forbids_everything(
    tmp_path: Path, serve_site: Serve, robots: str | Redirect, says: str
) -> None:
    server = serve_site({"/robots.txt": robots, "/": page("Home")})
    site = Site(tmp_path, server)
    with pytest.raises(CrawlError, match=says) as raised:
        site.crawl()
    assert raised.value.remedy
    assert site.asked() == ["/robots.txt"]


def test_robots_that_cannot_be_had_forbids_everything(tmp_path: Path, serve_site: Serve) -> None:
    server = serve_site({"/": page("Home")})
    server.set_faults(Fault(kind="status", path="robots.txt", status=500))
    site = Site(tmp_path, server, retries=1)
    with pytest.raises(CrawlError, match="HTTP 500"):
        site.crawl()
    assert site.asked() == ["/robots.txt"] * 2


def test_a_host_that_is_down(tmp_path: Path, serve_site: Serve) -> None:
    server = serve_site({"/": page("Home")})
    site = Site(tmp_path, server, retries=0)
    server.stop()
    with pytest.raises(CrawlError, match="connection refused"):
        site.crawl()


def test_a_private_address_needs_leave(tmp_path: Path, serve_site: Serve) -> None:
    server = serve_site({"/": page("Home")})
    port = server.url.rpartition(":")[2]
    for host in (f"127.0.0.1:{port}", f"localhost:{port}"):
        site = Site(tmp_path, server, retries=0, seeds=[f"http://{host}/"], host_map={})
        with pytest.raises(CrawlError, match="private address"):
            site.crawl()
        site.paths.journal.joinpath("c1.sqlite").unlink()
    assert server.requests() == []
    site = Site(tmp_path, server, seeds=[server.url], host_map={}, allow_private=True)
    assert site.crawl()["state"].to_list() == ["live"]


@pytest.mark.parametrize(
    ("pages", "says"),
    [
        ({"/": Resource(b"%PDF-1.4", "application/pdf", datetime(2026, 1, 1, tzinfo=UTC))}, "pdf"),
        ({"/": Resource(b"", "text/html", datetime(2026, 1, 1, tzinfo=UTC))}, "empty body"),
        ({}, "empty"),
    ],
)
def test_a_site_without_pages(
    tmp_path: Path, serve_site: Serve, pages: dict[str, Resource], says: str
) -> None:
    with pytest.raises(CrawlError, match=says):
        Site(tmp_path, serve_site(pages)).crawl()


@pytest.mark.data
def test_ucsd_has_303_reachable_pages(
    tmp_path: Path, serve_site: Serve, measured_site: Callable[..., DirectorySource]
) -> None:
    server = serve_site(measured_site("ucsd_catalog_html", "ucsd"))
    site = Site(tmp_path, server, seeds=[f"http://{HOST}/catalog/index.html"])
    assert site.crawl()["state"].value_counts().filter(pl.col("state") == "live")["count"][0] == 303
