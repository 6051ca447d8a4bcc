"""Render the demo site's pages to HTML with Jinja2 (autoescape on)."""

from __future__ import annotations

import re
from pathlib import Path
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pipelines.demo.content import Content, Page

if TYPE_CHECKING:
    from jinja2 import Environment
    from markupsafe import Markup

TEMPLATE_DIR = Path(__file__).parent / "templates"

_LINK = re.compile(r"\[([^\]]+)\]\(([^)\s]+)\)")
_STRONG = re.compile(r"\*\*([^*]+)\*\*")
_CODE = re.compile(r"`([^`]+)`")


def inline(text: object) -> Markup:
    """Escape ``text``, then render its ``[label](url)``, ``**bold**`` and code spans."""
    from markupsafe import Markup, escape

    safe = str(escape(str(text)))
    safe = _CODE.sub(r"<code>\1</code>", safe)
    safe = _STRONG.sub(r"<strong>\1</strong>", safe)
    safe = _LINK.sub(r'<a href="\2">\1</a>', safe)
    return Markup(safe)  # noqa: S704  (all of it was escaped above)


def section_of(path: str) -> str:
    """Return the first folder of a page's path (``/people/x/`` -> ``/people/``), or ``/``."""
    parts = urlsplit(path).path.split("/")
    return f"/{parts[1]}/" if len(parts) > 2 else "/"


def _long_date(value: Any) -> str:
    return f"{value.day} {value:%B %Y}"


class Renderer:
    """Renders the pages of one version; the same input always gives the same bytes."""

    def __init__(self, content: Content) -> None:
        self._content = content
        self._by_path = {page.path: page for page in content.pages}
        self._env = self._environment()

    @staticmethod
    def _environment() -> Environment:
        from jinja2 import Environment, FileSystemLoader, StrictUndefined

        env = Environment(
            loader=FileSystemLoader(TEMPLATE_DIR, encoding="utf-8"),
            autoescape=True,
            undefined=StrictUndefined,
            trim_blocks=True,
            lstrip_blocks=True,
            keep_trailing_newline=True,
        )
        env.filters["inline"] = inline
        env.filters["long_date"] = _long_date
        return env

    def _breadcrumbs(self, page: Page) -> list[Page]:
        """Return the existing ancestors of a page, the home page first, without itself."""
        path = urlsplit(page.path).path
        trail = [path[: match.end()] for match in re.finditer("/", path)]
        return [self._by_path[p] for p in trail if p in self._by_path and p != page.path]

    def _siblings(self, page: Page) -> list[Page]:
        """Return the pages the sidebar lists: those of the page's section, in order."""
        section = section_of(page.path)
        if section == "/":
            return []
        return [p for p in self._content.pages if p.in_menu and section_of(p.path) == section]

    def _profiles(self) -> list[Page]:
        profiles = [page for page in self._content.pages if page.kind == "profile"]
        return sorted(profiles, key=lambda page: (page.extra["surname"], page.title))

    def page(self, page: Page) -> bytes:
        """Render one page, encoded as the page declares (other letters as references)."""
        template = self._env.get_template(f"{page.kind}.html")
        text = template.render(
            base=f"base_{self._content.version}.html",
            page=page,
            site=self._content.site,
            home=f"https://{self._content.site['host']}",
            crumbs=self._breadcrumbs(page),
            siblings=self._siblings(page),
            section=section_of(page.path),
            profiles=self._profiles(),
        )
        return text.encode(page.encoding, errors="xmlcharrefreplace")
