"""The server: any Host, one site source, versions and faults switched while it runs."""

from __future__ import annotations

import asyncio
import secrets
import threading
import time
from collections import deque
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Self
from urllib.parse import urlsplit

from aiohttp import web

from pipelines.siteserver.faults import Fault, FaultPlan
from pipelines.siteserver.representation import GzipCache, Validators, represent
from pipelines.siteserver.source import Redirect, SiteSource
from retrieval.errors import BadInputError, SitequestError

_LOG_ENTRIES = 200_000
_CHUNK = b"<p>" + b"word " * 13_000 + b"</p>\n"


@dataclass(frozen=True)
class RequestEntry:
    """One request: when (seconds since the epoch), what was asked, and the status sent.

    ``status`` is 0 for a connection that was reset on demand. ``conditional`` says that the
    request carried If-None-Match or If-Modified-Since.
    """

    at: float
    method: str
    host: str
    target: str
    path: str
    status: int
    conditional: bool
    user_agent: str


class SiteServer:
    """Serves one version of a site from a thread of its own.

    Use as a context manager, or ``start()`` and ``stop()``. ``port=0`` takes a free port. With
    ``admin_port`` (0: a free one) the same switches are offered as JSON over HTTP on a second
    port, guarded by ``admin_token`` (see ``pipelines.siteserver.admin``).
    """

    def __init__(
        self,
        source: SiteSource,
        version: str,
        host: str = "127.0.0.1",
        port: int = 0,
        *,
        admin_port: int | None = None,
        validators: Validators | None = None,
    ) -> None:
        self.source = source
        self.admin_token = secrets.token_urlsafe(16)
        self._version = self._known(version)
        self._host = host
        self._ports: dict[str, int | None] = {"site": port, "admin": admin_port}
        self._validators = validators or Validators()
        self._faults = FaultPlan()
        self._log: deque[RequestEntry] = deque(maxlen=_LOG_ENTRIES)
        self._gzip = GzipCache()
        self._loop: asyncio.AbstractEventLoop | None = None
        self._thread: threading.Thread | None = None
        self._runners: list[web.ServerRunner] = []

    # -- life ----------------------------------------------------------------------------------

    def start(self) -> Self:
        """Start listening. Raises SitequestError when the port cannot be had."""
        if self._thread is not None:
            raise SitequestError(
                "The site server runs already.", "Stop it before starting it again."
            )
        loop = asyncio.new_event_loop()
        thread = threading.Thread(target=loop.run_forever, name="site-server", daemon=True)
        thread.start()
        self._loop, self._thread = loop, thread
        try:
            self._run(self._listen())
        except OSError as error:
            self.stop()
            raise SitequestError(
                f"The site server cannot listen on {self._host}:{self._ports['site']}: {error}.",
                "Choose another port, or 0 for a free one.",
            ) from error
        return self

    def stop(self) -> None:
        """Close all connections and end the thread; does nothing when not running."""
        loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        self._run(self._close())
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
        self._loop = self._thread = None

    def __enter__(self) -> Self:
        return self.start()

    def __exit__(self, *_: object) -> None:
        self.stop()

    @property
    def url(self) -> str:
        """Return ``http://host:port`` without a trailing slash."""
        return f"http://{self._host}:{self._ports['site']}"

    @property
    def admin_url(self) -> str:
        """Return the address of the admin port. Raises SitequestError when there is none."""
        if self._ports["admin"] is None:
            raise SitequestError(
                "This site server has no admin port.", "Start it with admin_port=0."
            )
        return f"http://{self._host}:{self._ports['admin']}"

    # -- switches ------------------------------------------------------------------------------

    @property
    def version(self) -> str:
        """Return the version being served."""
        return self._version

    def set_version(self, version: str) -> None:
        """Serve ``version`` from the next request on. Raises BadInputError for an unknown one."""
        self._version = self._known(version)

    def set_faults(self, *faults: Fault) -> None:
        """Replace the faults in force; none clears them."""
        self._faults.set(list(faults))

    def set_validators(self, validators: Validators) -> None:
        """Send these validators from the next request on."""
        self._validators = validators

    def requests(self) -> list[RequestEntry]:
        """Return the requests so far, oldest first (the last 200,000)."""
        return list(self._log)

    def clear_requests(self) -> None:
        """Forget the requests so far."""
        self._log.clear()

    def _known(self, version: str) -> str:
        if version not in self.source.versions:
            known = ", ".join(self.source.versions)
            raise BadInputError(f"The site has no version {version!r}.", f"It has: {known}.")
        return version

    # -- the loop's side -----------------------------------------------------------------------

    def _run(self, work: Coroutine[Any, Any, None]) -> None:
        assert self._loop is not None  # noqa: S101  only called between start and stop
        asyncio.run_coroutine_threadsafe(work, self._loop).result()

    async def _listen(self) -> None:
        from pipelines.siteserver.admin import admin_handler

        for name, handler in (("site", self._handle), ("admin", admin_handler(self))):
            port = self._ports[name]
            if port is None:
                continue
            runner = web.ServerRunner(web.Server(handler, access_log=None), shutdown_timeout=0.5)
            await runner.setup()
            self._runners.append(runner)
            await web.TCPSite(runner, self._host, port).start()
            self._ports[name] = runner.addresses[0][1]

    async def _close(self) -> None:
        while self._runners:
            await self._runners.pop().cleanup()
        # Handlers that still sleep for a latency fault outlive their connection.
        left = asyncio.all_tasks() - {asyncio.current_task()}
        for task in left:
            task.cancel()
        await asyncio.gather(*left, return_exceptions=True)

    async def _handle(self, request: web.BaseRequest) -> web.StreamResponse:
        target = _origin_form(request.raw_path)
        path = target.partition("?")[0]
        response = await self._faulty(request, path) or self._regular(request, target)
        status = 0 if isinstance(response, _Reset) else response.status
        conditional = "If-None-Match" in request.headers or "If-Modified-Since" in request.headers
        self._log.append(
            RequestEntry(
                time.time(), request.method, request.host, target, path, status, conditional,
                request.headers.get("User-Agent", ""),
            )
        )  # fmt: skip
        return response

    def _regular(self, request: web.BaseRequest, target: str) -> web.StreamResponse:
        if request.method not in ("GET", "HEAD"):
            return web.Response(status=405, headers={"Allow": "GET, HEAD"})
        found = self.source.lookup(self._version, target)
        if found is None:
            return web.Response(status=404, text="<h1>Not found</h1>", content_type="text/html")
        if isinstance(found, Redirect):
            return web.Response(status=found.status, headers={"Location": found.location})
        status, headers, body = represent(found, request.headers, self._validators, self._gzip)
        return web.Response(status=status, headers=headers, body=body)

    async def _faulty(self, request: web.BaseRequest, path: str) -> web.StreamResponse | None:
        """Carry out the faults of this request; None when a regular answer is due."""
        for fault in self._faults.hits(path):
            if fault.kind == "latency":
                await asyncio.sleep(fault.seconds)
            elif fault.kind == "status":
                after = fault.retry_after_header()
                headers = {"Retry-After": after} if after is not None else {}
                return web.Response(status=fault.status, headers=headers, text="fault on demand")
            elif fault.kind == "loop":
                hop = (int(request.query.get("hop", "0")) + 1) % fault.hops
                return web.Response(status=302, headers={"Location": f"{path}?hop={hop}"})
            elif fault.kind == "huge":
                return await _stream(request, fault.size, web.StreamResponse())
            else:
                return await _reset(request, fault.size)
        return None


class _Reset(web.StreamResponse):
    """A response whose connection is broken off."""


async def _stream(
    request: web.BaseRequest, size: int, response: web.StreamResponse
) -> web.StreamResponse:
    """Send ``size`` bytes of HTML in chunks; stops quietly when the client has had enough."""
    response.content_type = "text/html"
    await response.prepare(request)
    left = size
    try:
        while left > 0:
            await response.write(_CHUNK[:left])
            left -= len(_CHUNK)
    except ConnectionError:
        return response
    return response


async def _reset(request: web.BaseRequest, size: int) -> web.StreamResponse:
    """Break the connection: at once, or after ``size`` bytes of body."""
    response = _Reset()
    if size:
        await _stream(request, size, response)
    if request.transport is not None:
        request.transport.abort()
    return response


def _origin_form(target: str) -> str:
    """Return path and query of a request target, which may be in absolute form."""
    if target.startswith("/"):
        return target
    parts = urlsplit(target)
    return (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
