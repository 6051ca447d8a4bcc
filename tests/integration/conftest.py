"""Running site servers for the integration tests."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator, Mapping
from contextlib import ExitStack
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pipelines.siteserver.server import SiteServer
from pipelines.siteserver.source import DirectorySource, Redirect, Resource, SiteSource

Pages = Mapping[str, "str | bytes | Resource | Redirect"]
_CHANGED = datetime(2026, 1, 5, 12, tzinfo=UTC)


class MemorySource:
    """Versions written down in a test: {version: {target: html, bytes, Resource or Redirect}}."""

    def __init__(self, versions: Mapping[str, Pages]) -> None:
        self._pages = versions

    @property
    def versions(self) -> tuple[str, ...]:
        return tuple(self._pages)

    def lookup(self, version: str, target: str) -> Resource | Redirect | None:
        pages = self._pages[version]
        found = pages.get(target, pages.get(target.partition("?")[0]))
        if isinstance(found, str):
            kind = "text/plain" if target.endswith(".txt") else "text/html; charset=utf-8"
            kind = "application/xml" if target.endswith(".xml") else kind
            return Resource(found.encode(), kind, _CHANGED)
        if isinstance(found, bytes):
            return Resource(found, "application/octet-stream", _CHANGED)
        return found


@pytest.fixture
def serve_site() -> Iterator[Callable[..., SiteServer]]:
    """Start servers: ``serve_site(source, version=None)`` or ``serve_site({"/": "<p>..."})``."""
    with ExitStack() as stack:

        def start(source: SiteSource | Pages, version: str | None = None) -> SiteServer:
            site = MemorySource({"v1": source}) if isinstance(source, Mapping) else source
            return stack.enter_context(SiteServer(site, version or site.versions[0]))

        yield start


@pytest.fixture
def serve_versions(serve_site: Callable[..., SiteServer]) -> Callable[..., SiteServer]:
    """Start a server on ``{version: {target: page}}``."""
    return lambda versions: serve_site(MemorySource(versions))


@pytest.fixture
def site_server(serve_site: Callable[..., SiteServer]) -> SiteServer:
    """The demo site, first version, on a free loopback port."""
    from pipelines.demo.site import DemoSource

    return serve_site(DemoSource())


@pytest.fixture
def measured_site(tmp_path: Path) -> Callable[..., DirectorySource]:
    """Unpack one of the measured sites: ``measured_site("ucsd_catalog_html", "ucsd")``."""
    import tarfile

    data = Path(os.environ.get("SITEQUEST_DATA", Path(__file__).parents[3] / "shared"))

    def unpack(archive: str, *inner: str) -> DirectorySource:
        file = data / "sites" / f"{archive}.tar.xz"
        if not file.is_file():
            pytest.skip(f"the measured site {archive} is not here (set SITEQUEST_DATA)")
        with tarfile.open(file) as tar:
            tar.extractall(tmp_path / archive, filter="data")
        return DirectorySource({name: tmp_path / archive / name for name in inner})

    return unpack
