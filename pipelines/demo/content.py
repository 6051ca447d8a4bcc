"""Load the demo site's content (YAML) and apply a version's overlay to it.

The base content is every ``content/*.yaml`` file except ``site.yaml``; each is a list
of page mappings.  A later version is ``content/<version>/pages.yaml`` (pages added)
and ``content/<version>/overlay.yaml`` (pages removed, moved and edited).
"""

from __future__ import annotations

import importlib
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import Any

CONTENT_DIR = Path(__file__).parent / "content"
BASE_VERSION = "v1"

_HEADINGS = {f"h{level}": level for level in range(2, 7)}
_CONTAINERS = frozenset({"details", "callout", "columns"})


class ContentError(ValueError):
    """The demo content is inconsistent (unknown page, edit that matches nothing, ...)."""


@dataclass(frozen=True)
class Block:
    """One block of a page body: its kind and the value the template renders."""

    kind: str
    value: Any


@dataclass(frozen=True)
class Page:
    """One HTML page of one version.

    ``path`` is the URL target, with its query when the query is significant
    (``/news/?page=2``).  ``h1`` is None for a page without a first-level heading.
    ``extra`` holds the fields only some page kinds have (a profile's room, ...).
    """

    path: str
    title: str
    nav: str
    h1: str | None
    kind: str
    date: date
    encoding: str
    canonical: str
    in_menu: bool
    in_sitemap: bool
    lead: str
    body: tuple[Block, ...]
    extra: dict[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Content:
    """Everything one version of the site is rendered from.

    ``pages`` keeps the authored order.  ``redirects`` maps a path to its (location,
    status).  ``released`` is the date the version's template went live.
    """

    version: str
    site: dict[str, Any]
    pages: tuple[Page, ...]
    redirects: dict[str, tuple[str, int]]
    removed: tuple[str, ...]
    moved: dict[str, str]
    added: tuple[str, ...]
    edited: tuple[str, ...]
    released: date


def _read_yaml(path: Path) -> Any:
    yaml = importlib.import_module("yaml")
    return yaml.safe_load(path.read_text(encoding="utf-8"))


def blocks_of(raw: list[Any]) -> tuple[Block, ...]:
    """Turn authored blocks into :class:`Block` objects.

    A string is a paragraph; a mapping with one key is a block of that kind (``h2`` to
    ``h6`` become ``heading`` with ``{level, text}``).  Raises ContentError for a
    mapping with more than one key.
    """
    out: list[Block] = []
    for item in raw:
        if isinstance(item, str):
            out.append(Block("p", item))
            continue
        if not isinstance(item, dict) or len(item) != 1:
            raise ContentError(f"a block must be a string or a one-key mapping: {item!r}")
        kind, value = next(iter(item.items()))
        if kind in _HEADINGS:
            out.append(Block("heading", {"level": _HEADINGS[kind], "text": value}))
        elif kind == "accordion":
            panels = [{"title": p["title"], "body": blocks_of(p["body"])} for p in value["panels"]]
            out.append(Block(kind, {**value, "panels": panels}))
        elif kind in _CONTAINERS:
            out.append(Block(kind, {**value, "body": blocks_of(value["body"])}))
        else:
            out.append(Block(kind, value))
    return tuple(out)


_KNOWN = frozenset(
    {"path", "title", "nav", "h1", "kind", "date", "encoding", "canonical", "lead", "body"}
    | {"in_menu", "in_sitemap"}
)


def _page(raw: Mapping[str, Any], site: Mapping[str, Any]) -> Page:
    path = str(raw["path"])
    title = str(raw["title"])
    disallowed = any(path.startswith(prefix) for prefix in site["disallow"])
    h1 = raw.get("h1", title)
    return Page(
        path=path,
        title=title,
        nav=str(raw.get("nav", title)),
        h1=None if h1 is None else str(h1),
        kind=str(raw.get("kind", "page")),
        date=raw["date"],
        encoding=str(raw.get("encoding", "utf-8")),
        canonical=str(raw.get("canonical", path)),
        in_menu=bool(raw.get("in_menu", not disallowed and "?" not in path)),
        in_sitemap=bool(raw.get("in_sitemap", not disallowed and "?" not in path)),
        lead=str(raw.get("lead", "")),
        body=blocks_of(list(raw.get("body", []))),
        extra={key: value for key, value in raw.items() if key not in _KNOWN},
    )


def _replace(value: Any, old: str, new: str) -> tuple[Any, int]:
    """Replace ``old`` in every string inside ``value``; also return how many it changed."""
    if isinstance(value, str):
        return value.replace(old, new), value.count(old)
    if isinstance(value, list):
        pairs = [_replace(item, old, new) for item in value]
        return [item for item, _ in pairs], sum(count for _, count in pairs)
    if isinstance(value, dict):
        changed = {key: _replace(item, old, new) for key, item in value.items()}
        return {k: item for k, (item, _) in changed.items()}, sum(c for _, c in changed.values())
    return value, 0


def _edit(raw: dict[str, Any], edit: Mapping[str, Any]) -> dict[str, Any]:
    path = raw["path"]
    out = {**raw, **edit.get("set", {}), "date": edit["date"]}
    for old, new in edit.get("replace", []):
        out, count = _replace(out, old, new)
        if count == 0:
            raise ContentError(f"{path}: nothing to replace for {old!r}")
    if "append" in edit:
        out["body"] = [*out.get("body", []), *edit["append"]]
    out["path"] = path
    return out


def _apply_overlay(pages: dict[str, dict[str, Any]], overlay: Mapping[str, Any]) -> None:
    for path, edit in overlay.get("edit", {}).items():
        if path not in pages:
            raise ContentError(f"edit of an unknown page: {path}")
        pages[path] = _edit(pages[path], edit)
    for path in overlay.get("remove", []):
        if pages.pop(path, None) is None:
            raise ContentError(f"removal of an unknown page: {path}")
    for old, new in overlay.get("move", {}).items():
        if old not in pages:
            raise ContentError(f"move of an unknown page: {old}")
        pages[new] = {**pages.pop(old), "path": new}


def _authored(folder: Path) -> dict[str, dict[str, Any]]:
    pages: dict[str, dict[str, Any]] = {}
    for file in sorted(folder.glob("*.yaml")):
        if file.name in ("site.yaml", "overlay.yaml"):
            continue
        for raw in _read_yaml(file):
            if raw["path"] in pages:
                raise ContentError(f"page written twice: {raw['path']}")
            pages[raw["path"]] = raw
    return pages


def load_content(version: str) -> Content:
    """Load one version of the content.

    Raises ContentError when the version is unknown or its overlay does not fit the base.
    """
    site: dict[str, Any] = _read_yaml(CONTENT_DIR / "site.yaml")
    if version not in site["versions"]:
        raise ContentError(f"unknown version of the demo site: {version!r}")
    settings = site["versions"][version]
    pages = _authored(CONTENT_DIR)
    overlay: dict[str, Any] = {}
    added: dict[str, dict[str, Any]] = {}
    if version != BASE_VERSION:
        overlay = _read_yaml(CONTENT_DIR / version / "overlay.yaml")
        _apply_overlay(pages, overlay)
        added = _authored(CONTENT_DIR / version)
        pages.update(added)
    moved = dict(overlay.get("move", {}))
    redirects = {source: (str(to), int(status)) for source, to, status in site["redirects"]}
    redirects.update({source: (str(to), 301) for source, to in moved.items()})
    return Content(
        version=version,
        site={**site, "menu": settings["menu"], "classes": settings["classes"]},
        pages=tuple(_page(raw, site) for raw in pages.values()),
        redirects=redirects,
        removed=tuple(overlay.get("remove", [])),
        moved=moved,
        added=tuple(added),
        edited=tuple(overlay.get("edit", {})),
        released=settings["released"],
    )
