"""The admin port of a site server: the Python switches as JSON over HTTP.

Every request needs ``Authorization: Bearer <admin_token>``: a page that a browser on this machine
shows must not be able to break the site being served.

    GET    /state      {"version", "versions", "url", "requests"}
    PUT    /version    {"version": NAME}
    PUT    /faults     [Fault, ...]           (an empty list clears them)
    PUT    /validators {"etag": "strong|weak|none", "last_modified": bool}
    GET    /requests   [RequestEntry, ...]
    DELETE /requests
"""

from __future__ import annotations

import hmac
from collections.abc import Awaitable, Callable
from dataclasses import asdict
from typing import TYPE_CHECKING

from aiohttp import web
from pydantic import BaseModel, ConfigDict, TypeAdapter, ValidationError

from pipelines.siteserver.faults import Fault
from pipelines.siteserver.representation import EtagKind, Validators
from retrieval.errors import SitequestError

if TYPE_CHECKING:
    from pipelines.siteserver.server import SiteServer

_FAULTS = TypeAdapter(list[Fault])


class _Version(BaseModel):
    model_config = ConfigDict(extra="forbid")
    version: str


class _Validators(BaseModel):
    model_config = ConfigDict(extra="forbid")
    etag: EtagKind = "strong"
    last_modified: bool = True


def admin_handler(server: SiteServer) -> Callable[[web.BaseRequest], Awaitable[web.StreamResponse]]:
    """Return the handler of the admin port of ``server``."""

    async def handle(request: web.BaseRequest) -> web.StreamResponse:
        sent = request.headers.get("Authorization", "").encode()
        if not hmac.compare_digest(sent, f"Bearer {server.admin_token}".encode()):
            return web.json_response({"error": "wrong or missing token"}, status=401)
        try:
            return _answer(server, request.method, request.path, await request.read())
        except ValidationError as error:
            return web.json_response({"error": str(error)}, status=422)
        except SitequestError as error:
            return web.json_response({"error": str(error)}, status=422)

    return handle


def _answer(server: SiteServer, method: str, path: str, body: bytes) -> web.Response:
    """Carry out one request. Raises ValidationError or SitequestError for a bad body."""
    match method, path:
        case "GET", "/requests":
            return web.json_response([asdict(entry) for entry in server.requests()])
        case "DELETE", "/requests":
            server.clear_requests()
        case "PUT", "/version":
            server.set_version(_Version.model_validate_json(body).version)
        case "PUT", "/faults":
            server.set_faults(*_FAULTS.validate_json(body))
        case "PUT", "/validators":
            server.set_validators(Validators(**_Validators.model_validate_json(body).model_dump()))
        case "GET", "/state":
            pass
        case _:
            return web.json_response({"error": "no such switch"}, status=404)
    return web.json_response(
        {
            "version": server.version,
            "versions": list(server.source.versions),
            "url": server.url,
            "requests": len(server.requests()),
        }
    )
