"""The site server over real sockets."""

from __future__ import annotations

import gzip
import json
import urllib.error
import urllib.request
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from email.utils import parsedate_to_datetime
from http.client import HTTPConnection, HTTPResponse, IncompleteRead
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from pipelines.siteserver.faults import Fault
from pipelines.siteserver.representation import Validators
from pipelines.siteserver.server import SiteServer
from pipelines.siteserver.source import DirectorySource
from retrieval.errors import BadInputError, SitequestError

Serve = Callable[..., SiteServer]
LONG = "<p>" + "many words " * 200


def fetch(
    server: SiteServer, target: str, method: str = "GET", **headers: str
) -> tuple[HTTPResponse, bytes]:
    connection = HTTPConnection(urlsplit(server.url).netloc, timeout=10)
    try:
        connection.request(
            method, target, headers={k.replace("_", "-"): v for k, v in headers.items()}
        )
        response = connection.getresponse()
        return response, response.read()
    finally:
        connection.close()


def test_validators_and_conditional_requests(serve_site: Serve) -> None:
    server = serve_site({"/": "<p>hello"})
    response, body = fetch(server, "/")
    assert (response.status, body) == (200, b"<p>hello")
    etag, modified = response.headers["ETag"], response.headers["Last-Modified"]
    assert etag.startswith('"')
    for headers in ({"If_None_Match": etag}, {"If_None_Match": f"W/{etag}, x"},
                    {"If_Modified_Since": modified}):  # fmt: skip
        response, body = fetch(server, "/", **headers)
        assert (response.status, body) == (304, b"")
        assert response.headers["ETag"] == etag
    # A tag that does not match wins over a date that does.
    assert fetch(server, "/", If_None_Match='"x"', If_Modified_Since=modified)[0].status == 200
    server.set_validators(Validators(etag="weak"))
    assert fetch(server, "/")[0].headers["ETag"] == f"W/{etag}"
    server.set_validators(Validators(etag="none", last_modified=False))
    response, _ = fetch(server, "/", If_Modified_Since=modified)
    assert response.status == 200
    assert "ETag" not in response.headers
    assert "Last-Modified" not in response.headers
    assert [entry.conditional for entry in server.requests()].count(True) == 5


def test_gzip_has_its_own_strong_tag(serve_site: Serve) -> None:
    server = serve_site({"/": LONG})
    plain, body = fetch(server, "/")
    packed, coded = fetch(server, "/", Accept_Encoding="br, gzip")
    assert packed.headers["Content-Encoding"] == "gzip"
    assert gzip.decompress(coded) == body == LONG.encode()
    assert packed.headers["ETag"] != plain.headers["ETag"]
    refused, _ = fetch(server, "/", Accept_Encoding="gzip;q=0")
    assert "Content-Encoding" not in refused.headers


def test_head_has_headers_and_no_body(serve_site: Serve) -> None:
    server = serve_site({"/": LONG})
    got, body = fetch(server, "/")
    head, nothing = fetch(server, "/", "HEAD")
    assert nothing == b""
    assert head.headers["Content-Length"] == str(len(body))
    assert head.headers["ETag"] == got.headers["ETag"]
    assert fetch(server, "/", "POST")[0].status == 405


def test_versions_switch_while_running(serve_versions: Serve) -> None:
    server = serve_versions({"a": {"/": "one"}, "b": {"/": "two"}})
    assert fetch(server, "/")[1] == b"one"
    server.set_version("b")
    assert fetch(server, "/")[1] == b"two"
    with pytest.raises(BadInputError, match="no version 'c'"):
        server.set_version("c")


def test_faults(serve_site: Serve) -> None:
    server = serve_site({"/": LONG, "/a": "a"})
    server.set_faults(Fault(kind="status", path="^/a$", count=1, retry_after=2))
    response, _ = fetch(server, "/a")
    assert (response.status, response.headers["Retry-After"]) == (503, "2")
    assert fetch(server, "/a")[0].status == 200
    server.set_faults(Fault(kind="status", retry_after=90, retry_after_form="date", status=429))
    response, _ = fetch(server, "/")
    wait = parsedate_to_datetime(response.headers["Retry-After"]) - datetime.now(UTC)
    assert response.status == 429
    assert timedelta(seconds=80) < wait <= timedelta(seconds=91)
    server.set_faults(Fault(kind="loop", hops=3))
    targets = ["/"]
    for _ in range(4):
        targets.append(fetch(server, targets[-1])[0].headers["Location"])
    assert targets == ["/", "/?hop=1", "/?hop=2", "/?hop=0", "/?hop=1"]
    server.set_faults(Fault(kind="reset"))
    with pytest.raises(ConnectionError):
        fetch(server, "/")
    server.set_faults(Fault(kind="reset", size=1000))
    with pytest.raises((ConnectionError, IncompleteRead)):
        fetch(server, "/")
    server.set_faults(Fault(kind="huge", size=300_000))
    assert len(fetch(server, "/")[1]) == 300_000
    server.set_faults()
    assert fetch(server, "/")[0].status == 200
    assert [entry.status for entry in server.requests()][-4:] == [0, 0, 200, 200]


def test_share_hits_the_same_paths_each_time(serve_site: Serve) -> None:
    server = serve_site({f"/{n}": "x" for n in range(60)})
    server.set_faults(Fault(kind="status", share=0.5))
    first = [fetch(server, f"/{n}")[0].status for n in range(60)]
    assert first == [fetch(server, f"/{n}")[0].status for n in range(60)]
    assert 15 < first.count(503) < 45


def test_directory_is_served_as_by_a_static_host(tmp_path: Path, serve_site: Serve) -> None:
    site = tmp_path / "site"
    (site / "about").mkdir(parents=True)
    for name in ("index.html", "about/index.html", "team.html", "a b.html", "about/x.pdf"):
        (site / name).write_text(name)
    (tmp_path / "secret.html").write_text("secret")
    (site / "link.html").symlink_to(tmp_path / "secret.html")
    server = serve_site(DirectorySource({"v": site}))
    for target in ("/", "/?q=1", "/about/", "/team", "/team.html", "/a%20b", "/about/x.pdf"):
        assert fetch(server, target)[0].status == 200, target
    moved, _ = fetch(server, "/about?x=1")
    assert (moved.status, moved.headers["Location"]) == (301, "/about/?x=1")
    assert fetch(server, "//about")[0].headers["Location"] == "/about/"
    for target in ("/../secret.html", "/%2e%2e/secret.html", "/link.html", "/link", "/none",
                   "/team/", "/%00", "/..%2fsecret"):  # fmt: skip
        assert fetch(server, target)[0].status == 404, target
    assert fetch(server, "/about/x.pdf")[0].headers["Content-Type"] == "application/pdf"


def test_admin_port_needs_its_token(serve_site: Serve) -> None:
    source = serve_site({"/": "x"}).source
    with SiteServer(source, "v1", admin_port=0) as server:

        def call(method: str, path: str, body: object = None, token: str | None = None) -> object:
            request = urllib.request.Request(
                server.admin_url + path,
                data=None if body is None else json.dumps(body).encode(),
                headers={"Authorization": f"Bearer {token or server.admin_token}"},
                method=method,
            )
            with urllib.request.urlopen(request, timeout=10) as response:
                return json.load(response)

        call("PUT", "/faults", [{"kind": "status", "status": 500}])
        assert fetch(server, "/")[0].status == 500
        call("PUT", "/faults", [])
        call("PUT", "/validators", {"etag": "none"})
        assert "ETag" not in fetch(server, "/")[0].headers
        log = call("GET", "/requests")
        assert isinstance(log, list)
        assert [entry["status"] for entry in log] == [500, 200]
        for method, path, body, token, status in (
            ("GET", "/state", None, "wrong", 401),
            ("PUT", "/version", {"version": "nope"}, None, 422),
            ("PUT", "/faults", [{"kind": "nope"}], None, 422),
            ("GET", "/nope", None, None, 404),
        ):
            with pytest.raises(urllib.error.HTTPError) as raised:
                call(method, path, body, token)
            assert raised.value.code == status
            raised.value.close()
        state = call("DELETE", "/requests")
        assert isinstance(state, dict)
        assert state["requests"] == 0


def test_taken_port_is_a_clear_error(serve_site: Serve) -> None:
    server = serve_site({"/": "x"})
    port = int(server.url.rpartition(":")[2])
    with pytest.raises(SitequestError, match="cannot listen"):
        SiteServer(server.source, "v1", port=port).start()
