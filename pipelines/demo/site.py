"""The demo site as a source of resources: lookup by version and URL target.

Jinja2 and PyYAML are imported when a version is first rendered, not on import.
"""

from __future__ import annotations

import gzip
from datetime import UTC, date, datetime, time
from pathlib import Path
from urllib.parse import parse_qsl, unquote, urlsplit
from xml.sax.saxutils import escape

from pipelines.demo.content import Content, ContentError, Page, load_content
from pipelines.siteserver.source import Redirect, Resource

HOST = "www.ostrevale.example"
VERSIONS = ("v1", "v2")
DISALLOWED = ("/search/", "/internal/")
QUESTIONS_PATH = Path(__file__).parent / "questions.jsonl"

_STATIC_DIR = Path(__file__).parent / "content" / "static"
_STATIC = {
    "/assets/logo.svg": ("logo.svg", "image/svg+xml"),
    "/files/campus-map.pdf": ("campus-map.pdf", "application/pdf"),
}
_SIGNIFICANT = ("page",)  # the only query parameter that selects another page
_ZIPPED_SECTIONS = ("/people/", "/news/", "/events/")
_SITEMAP_NS = "http://www.sitemaps.org/schemas/sitemap/0.9"


def _utc(day: date) -> datetime:
    return datetime.combine(day, time(6, 0), tzinfo=UTC)


def page_name(target: str) -> str:
    """Return the name the gold questions use for a URL target.

    The path without its leading slash; a directory ends in ``index.html``; a
    significant query stays (``/news/?page=2`` -> ``news/index.html?page=2``).
    """
    parts = urlsplit(target)
    path = parts.path.lstrip("/")
    if path == "" or path.endswith("/"):
        path += "index.html"
    return path + (f"?{parts.query}" if parts.query else "")


def _urlset(entries: list[tuple[str, date]], outer: str, inner: str) -> bytes:
    """Return a sitemap (``urlset``/``url``) or sitemap index (``sitemapindex``/``sitemap``)."""
    rows = [
        f"  <{inner}><loc>https://{HOST}{escape(path)}</loc>"
        f"<lastmod>{day.isoformat()}</lastmod></{inner}>\n"
        for path, day in entries
    ]
    head = f'<?xml version="1.0" encoding="UTF-8"?>\n<{outer} xmlns="{_SITEMAP_NS}">\n'
    return (head + "".join(rows) + f"</{outer}>\n").encode()


def _sitemaps(content: Content) -> dict[str, Resource]:
    listed = [page for page in content.pages if page.in_sitemap]
    zipped = [p for p in listed if p.path.startswith(_ZIPPED_SECTIONS)]
    plain = [p for p in listed if not p.path.startswith(_ZIPPED_SECTIONS)]
    out: dict[str, Resource] = {}
    index: list[tuple[str, date]] = []
    for path, pages in (("/sitemaps/pages.xml", plain), ("/sitemaps/people.xml.gz", zipped)):
        newest = max(page.date for page in pages)
        body = _urlset([(page.path, page.date) for page in pages], "urlset", "url")
        kind = "application/xml"
        if path.endswith(".gz"):
            body, kind = gzip.compress(body, mtime=0), "application/gzip"
        out[path] = Resource(body=body, content_type=kind, last_modified=_utc(newest))
        index.append((path, newest))
    out["/sitemap.xml"] = Resource(
        body=_urlset(index, "sitemapindex", "sitemap"),
        content_type="application/xml",
        last_modified=_utc(max(day for _, day in index)),
    )
    return out


def _robots(content: Content) -> Resource:
    rules = "".join(f"Disallow: {prefix}\n" for prefix in DISALLOWED)
    body = f"User-agent: *\n{rules}\nSitemap: https://{HOST}/sitemap.xml\n"
    return Resource(body.encode(), "text/plain; charset=utf-8", _utc(content.released))


def _html_type(page: Page) -> str:
    """Return a page's Content-Type: an older encoding is named only by its ``<meta>``."""
    return "text/html; charset=utf-8" if page.encoding == "utf-8" else "text/html"


class DemoSource:
    """The embedded demo site; a ``SiteSource``.

    Each version is rendered once, on first use, and kept.  Rendering is deterministic:
    two instances answer the same bytes.
    """

    def __init__(self) -> None:
        self.versions: tuple[str, ...] = VERSIONS
        self._content: dict[str, Content] = {}
        self._resources: dict[str, dict[str, Resource]] = {}

    def lookup(self, version: str, target: str) -> Resource | Redirect | None:
        """Answer one request.

        ``target`` is a path with an optional query.  Only ``page`` is significant in a
        query; other parameters (``utm_source`` ...) are ignored.  Returns a Resource, a
        Redirect whose location is a path on the site, or None when nothing is there.
        Raises KeyError when the version is unknown.
        """
        resources = self._render(version)
        parts = urlsplit(target)
        path = unquote(parts.path) or "/"
        chosen = [(k, v) for k, v in parse_qsl(parts.query) if k in _SIGNIFICANT and v != "1"]
        if chosen and any(known.startswith(f"{path}?") for known in resources):
            return resources.get(path + "?" + "&".join(f"{k}={v}" for k, v in chosen))
        if path in resources:
            return resources[path]
        redirects = self._content[version].redirects
        if path in redirects:
            location, status = redirects[path]
            return Redirect(location=location, status=status)
        if path.endswith("/index.html") and path.removesuffix("index.html") in resources:
            return Redirect(location=path.removesuffix("index.html"), status=301)
        if f"{path}/" in resources:
            return Redirect(location=f"{path}/", status=301)
        return None

    def paths(self, version: str) -> list[str]:
        """Return every target that answers with a Resource, sorted (redirects left out)."""
        return sorted(self._render(version))

    def html_paths(self, version: str) -> list[str]:
        """Return the targets of the HTML pages, sorted."""
        resources = self._render(version)
        return sorted(p for p, r in resources.items() if r.content_type.startswith("text/html"))

    def content(self, version: str) -> Content:
        """Return the content a version is rendered from (its changes included)."""
        self._render(version)
        return self._content[version]

    def _render(self, version: str) -> dict[str, Resource]:
        if version not in VERSIONS:
            raise KeyError(version)
        if version not in self._resources:
            from pipelines.demo.render import Renderer

            content = load_content(version)
            if content.site["host"] != HOST or tuple(content.site["disallow"]) != DISALLOWED:
                raise ContentError("site.yaml names another host or other disallowed paths")
            renderer = Renderer(content)
            resources = _sitemaps(content)
            resources["/robots.txt"] = _robots(content)
            resources.update(_static(content))
            for page in content.pages:
                resources[page.path] = Resource(
                    body=renderer.page(page),
                    content_type=_html_type(page),
                    last_modified=_utc(max(page.date, content.released)),
                )
            for alias, path in content.site["aliases"].items():
                resources[alias] = resources[path]
            self._content[version] = content
            self._resources[version] = resources
        return self._resources[version]


def _static(content: Content) -> dict[str, Resource]:
    out = {
        path: Resource((_STATIC_DIR / name).read_bytes(), kind, _utc(date(2023, 1, 9)))
        for path, (name, kind) in _STATIC.items()
    }
    style = (_STATIC_DIR / f"site-{content.version}.css").read_bytes()
    out["/assets/site.css"] = Resource(style, "text/css; charset=utf-8", _utc(content.released))
    return out
