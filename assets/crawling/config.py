"""What a crawl may do: seeds, scope, host mapping, budgets, politeness."""

from __future__ import annotations

import re
from typing import Annotated
from urllib.parse import SplitResult, urlsplit

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

# Parameters that say where a visitor came from or who he is, never what the page holds.
TRACKING_PARAMS = (
    "utm_*", "gclid", "gclsrc", "dclid", "fbclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid",
    "_ga", "_gl", "_hsenc", "_hsmi", "mkt_tok",
)  # fmt: skip
SESSION_PARAMS = (
    "phpsessid", "jsessionid", "aspsessionid*", "sessionid", "session_id", "cfid", "cftoken",
)  # fmt: skip

Positive = Annotated[int, Field(ge=1)]


class CrawlConfig(BaseModel):
    """One site's crawl.

    ``seeds`` are public URLs. ``hosts`` is the scope (``host``, ``host:port`` or ``*.domain``;
    default: the hosts of the seeds). ``host_map`` says where a public host is served
    (``{"www.example.edu": "http://127.0.0.1:8001"}``); a mapped host may be a private address.
    ``include`` and ``exclude`` are regular expressions searched in path and query: a URL is taken
    when one of ``include`` matches (or there is none) and none of ``exclude`` does.
    ``drop_params`` are the query parameters (shell patterns, any case) that the canonical key
    leaves out. Sizes are bytes after decompression, times seconds; ``max_depth`` counts clicks.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    seeds: Annotated[list[str], Field(min_length=1)]
    hosts: list[str] = []
    host_map: dict[str, str] = {}
    include: list[str] = []
    exclude: list[str] = []
    sitemaps: bool = True
    drop_params: list[str] = [*TRACKING_PARAMS, *SESSION_PARAMS]
    max_pages: Positive = 100_000
    max_depth: Positive | None = None
    max_body_bytes: Positive = 10_000_000
    max_total_bytes: Positive = 20_000_000_000
    max_redirects: Positive = 10
    concurrency: Annotated[int, Field(ge=1, le=64)] = 8
    delay_seconds: Annotated[float, Field(ge=0)] = 0.0
    timeout_seconds: Annotated[float, Field(gt=0)] = 30.0
    retries: Annotated[int, Field(ge=0, le=10)] = 3
    backoff_seconds: Annotated[float, Field(ge=0)] = 1.0
    retry_after_cap_seconds: Annotated[float, Field(ge=0)] = 120.0
    crawl_delay_cap_seconds: Annotated[float, Field(ge=0)] = 10.0
    confirm_gone_seconds: Annotated[float, Field(ge=0)] = 2.0
    contact: str = ""
    allow_private: bool = False

    @field_validator("seeds")
    @classmethod
    def _seeds_are_urls(cls, seeds: list[str]) -> list[str]:
        for seed in seeds:
            _require_http(seed)
        return seeds

    @field_validator("host_map")
    @classmethod
    def _targets_are_bases(cls, mapping: dict[str, str]) -> dict[str, str]:
        for target in mapping.values():
            parts = _require_http(target)
            if parts.query or parts.fragment:
                raise ValueError(f"{target!r} must be scheme, host and port, with no query")
        return {host.strip().lower(): target.rstrip("/") for host, target in mapping.items()}

    @field_validator("include", "exclude")
    @classmethod
    def _patterns_compile(cls, patterns: list[str]) -> list[str]:
        for pattern in patterns:
            try:
                re.compile(pattern)
            except re.error as error:
                raise ValueError(f"{pattern!r} is not a regular expression: {error}") from error
        return patterns

    @field_validator("contact")
    @classmethod
    def _contact_is_one_line(cls, contact: str) -> str:
        if not contact.isprintable() or not contact.isascii():
            raise ValueError("contact goes into a header: printable ASCII on one line")
        return contact.strip()

    @model_validator(mode="after")
    def _seeds_are_in_scope(self) -> CrawlConfig:
        scope = self.scope()
        for seed in self.seeds:
            if not in_scope(host_of(seed), scope):
                raise ValueError(f"the seed {seed!r} is on none of the hosts {sorted(scope)}")
        return self

    def scope(self) -> frozenset[str]:
        """Return the hosts of the crawl: those configured, or those of the seeds."""
        hosts = self.hosts or [host_of(seed) for seed in self.seeds]
        return frozenset(host.strip().lower() for host in hosts)

    def user_agent(self) -> str:
        """Return the User-Agent header; its product token is what robots.txt rules name."""
        from importlib.metadata import PackageNotFoundError, version

        try:
            number = version("sitequest")
        except PackageNotFoundError:
            # Run from a checkout that is not installed.
            number = "0"
        return f"{PRODUCT}/{number}" + (f" (+{self.contact})" if self.contact else "")


PRODUCT = "sitequest"


def host_of(url: str) -> str:
    """Return host, with the port when it is not the scheme's default, in lower case."""
    parts = urlsplit(url)
    host = (parts.hostname or "").lower()
    default = {"http": 80, "https": 443}.get(parts.scheme)
    return host if parts.port in (None, default) else f"{host}:{parts.port}"


def in_scope(host: str, scope: frozenset[str]) -> bool:
    """Return whether ``host`` is listed, or lies below a listed ``*.domain``."""
    if host in scope:
        return True
    name = host
    while "." in name:
        name = name.partition(".")[2]
        if f"*.{name}" in scope:
            return True
    return False


def _require_http(url: str) -> SplitResult:
    """Return the split URL. Raises ValueError unless it is an absolute http(s) URL."""
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"{url!r} is not an absolute http(s) URL")
    if parts.username or parts.password:
        raise ValueError(f"{url!r} carries a user name or password")
    _ = parts.port  # raises ValueError for a port that is no number
    return parts
