"""URLs: cleaning, the canonical key, scope, and the mapping between public and served address.

Three forms of an address, never mixed up:

- *public*: what the site calls the page, as linked (cleaned as browsers clean it); this is fetched;
- *served*: where a mapped host is reached; only the request line and the connection know it;
- *key*: for identity alone: no fragment, tracking or session parameter, arguments in order.
"""

from __future__ import annotations

import re
from fnmatch import translate
from functools import lru_cache
from typing import Final
from urllib.parse import quote, unquote_to_bytes, urlsplit

from assets.crawling.config import CrawlConfig, host_of, in_scope

# RFC 3986: everything that may stand unescaped in a path or a query, and escapes themselves.
_PATH_SAFE: Final = "/:@!$&'()*+,;=-._~%[]|"
_QUERY_SAFE: Final = _PATH_SAFE + "?"
_ESCAPE = re.compile(r"%([0-9a-fA-F]{2})")
_BAD_ESCAPE = re.compile(r"%(?![0-9a-fA-F]{2})")
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_MAX_URL = 2000


def clean(url: str) -> str | None:
    """Return an absolute http(s) URL as a browser would request it, None when it is none.

    The fragment goes, host and scheme are lowered (IDNA for other scripts), dot segments are
    resolved, what may not stand in a URL is escaped. Nothing else changes.
    """
    try:
        parts = urlsplit(url.strip())
        host, port = parts.hostname, parts.port
    except ValueError:
        return None
    if parts.scheme not in ("http", "https") or not host or parts.username is not None:
        return None
    ascii_host = _ascii_host(host)
    if ascii_host is None:
        return None
    default = 443 if parts.scheme == "https" else 80
    netloc = ascii_host if port in (None, default) else f"{ascii_host}:{port}"
    path = quote(_BAD_ESCAPE.sub("%25", parts.path), safe=_PATH_SAFE) or "/"
    if "/." in path:
        path = _without_dots(path)
    cleaned = f"{parts.scheme}://{netloc}{path}"
    if parts.query:
        cleaned += "?" + quote(_BAD_ESCAPE.sub("%25", parts.query), safe=_QUERY_SAFE)
    return cleaned if len(cleaned) <= _MAX_URL else None


@lru_cache(maxsize=1024)
def _ascii_host(host: str) -> str | None:
    if ":" in host:
        return f"[{host.lower()}]"
    try:
        return host.lower().rstrip(".").encode("idna").decode("ascii") or None
    except UnicodeError:
        return None


def _without_dots(path: str) -> str:
    """Resolve ``.`` and ``..`` segments (RFC 3986, 5.2.4)."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            kept[-1:] = []
        elif segment != ".":
            kept.append(segment)
    if segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _folded_escapes(text: str) -> str:
    """Unescape unreserved characters and upper-case the other escapes (RFC 3986, 6.2.2)."""

    def fold(found: re.Match[str]) -> str:
        character = chr(int(found[1], 16))
        return character if character in _UNRESERVED else found[0].upper()

    return _ESCAPE.sub(fold, text) if "%" in text else text


class UrlRules:
    """The rules of one configuration: key, scope, filters and mapping. Pure, with small caches."""

    def __init__(self, config: CrawlConfig) -> None:
        self._scope = config.scope()
        self._map = config.host_map
        self._reverse = sorted(
            ((target, host) for host, target in config.host_map.items()),
            key=lambda pair: -len(pair[0]),
        )
        self._schemes = {host_of(seed): urlsplit(seed).scheme for seed in reversed(config.seeds)}
        self._include = [re.compile(pattern) for pattern in config.include]
        self._exclude = [re.compile(pattern) for pattern in config.exclude]
        drop = "|".join(translate(pattern.lower()) for pattern in config.drop_params)
        self._drop = re.compile(drop) if drop else None

    def key(self, url: str) -> str:
        """Return the canonical key of a cleaned public URL."""
        base, _, query = url.partition("?")
        if ";" in base:
            base = self._without_path_params(base)
        base = _folded_escapes(base)
        if not query:
            return base
        arguments = [a for a in query.split("&") if a and not self._dropped(a)]
        # Stable: the order of two values of one name is meant, the order of names is not.
        arguments.sort(key=lambda a: a.partition("=")[0])
        return base + ("?" + _folded_escapes("&".join(arguments)) if arguments else "")

    def key_of(self, url: str) -> str | None:
        """Return the canonical key of any URL, None when it is no http(s) URL."""
        cleaned = clean(url)
        return None if cleaned is None else self.key(cleaned)

    def _dropped(self, argument: str) -> bool:
        name = argument.partition("=")[0]
        if "%" in name:
            name = unquote_to_bytes(name).decode("utf-8", "replace")
        return self._drop is not None and self._drop.match(name.lower()) is not None

    def _without_path_params(self, base: str) -> str:
        """Drop session ids that stand in the path, as in ``/page;jsessionid=1``."""
        first, *parameters = base.split(";")
        kept = first
        for parameter in parameters:
            value, slash, rest = parameter.partition("/")
            kept += slash + rest if self._dropped(value) else f";{parameter}"
        return kept

    def in_scope(self, url: str) -> bool:
        """Return whether the public URL lies on one of the configured hosts."""
        return in_scope(host_of(url), self._scope)

    def wanted(self, url: str) -> bool:
        """Return whether ``include`` and ``exclude`` let the URL pass."""
        target = url.split("/", 3)[-1]
        target = f"/{target}"
        if self._include and not any(pattern.search(target) for pattern in self._include):
            return False
        return not any(pattern.search(target) for pattern in self._exclude)

    def is_mapped(self, url: str) -> bool:
        """Return whether the configuration says where the URL's host is served."""
        return self._mapped(host_of(url)) is not None

    def _mapped(self, host: str) -> str | None:
        return self._map.get(host) or self._map.get(host.partition(":")[0])

    def to_served(self, url: str) -> str:
        """Return the address to connect to for a public URL."""
        target = self._mapped(host_of(url))
        if target is None:
            return url
        parts = urlsplit(url)
        return target + parts.path + (f"?{parts.query}" if parts.query else "")

    def to_public(self, url: str) -> str:
        """Return the public URL of an address below a mapping's target, others unchanged.

        The scheme is the one the seeds use for that host, ``http`` where none does.
        """
        for target, host in self._reverse:
            if url == target or url.startswith((f"{target}/", f"{target}?")):
                scheme = self._schemes.get(host, "http")
                rest = url[len(target) :]
                return f"{scheme}://{host}{rest if rest.startswith('/') else '/' + rest}"
        return url
