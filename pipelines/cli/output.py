"""What commands print: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import logging
import re
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.table import Table

from retrieval.errors import SitequestError

# Control characters (tab and newline apart) and those that turn the direction of writing: crawled
# text may hold them, and a terminal would obey.
_UNSAFE = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u200e\u200f\u202a-\u202e\u2066-\u2069]")


def visible(text: str) -> str:
    """Return ``text`` with what a terminal would obey replaced by a visible mark."""
    return _UNSAFE.sub("\ufffd", text)


class SafeConsole(Console):
    """A console that shows crawled text and never obeys it."""

    def print(self, *objects: Any, **options: Any) -> None:
        """Print as rich does, strings made `visible` first."""
        shown = (visible(item) if isinstance(item, str) else item for item in objects)
        super().print(*shown, **options)

    def on_broken_pipe(self) -> None:
        """Leave it to the caller: a reader that has seen enough is no failure."""
        raise BrokenPipeError


class _SafeHandler(RichHandler):
    """Logs lines that may name crawled URLs and texts."""

    def render_message(self, record: logging.LogRecord, message: str) -> Any:
        """Render the message, made `visible` first."""
        return super().render_message(record, visible(message))


stdout = SafeConsole(soft_wrap=True, highlight=False)
stderr = SafeConsole(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout; times as ISO, keys in the order given."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def print_table(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table for a person on stdout; crawled text is never read as markup."""
    from rich.markup import escape

    table = Table(title=title, title_justify="left", header_style="bold")
    for number, column in enumerate(columns):
        # The first column holds names and ids: broken over lines they could not be copied.
        table.add_column(column, overflow="fold", no_wrap=number == 0)
    for row in rows:
        table.add_row(*(escape("" if cell is None else visible(str(cell))) for cell in row))
    stdout.print(table)


def print_error(error: SitequestError, *, as_json: bool) -> None:
    """Say on stderr what failed and what to do; with ``as_json`` also as JSON on stdout."""
    from rich.markup import escape

    stderr.print(f"[bold red]error:[/] {escape(error.message)}")
    if error.remedy:
        stderr.print(f"[bold]remedy:[/] {escape(error.remedy)}")
    if as_json:
        print_json(
            {
                "error": error.message,
                "remedy": error.remedy,
                "kind": type(error).__name__,
                "exit_code": error.exit_code,
            }
        )


@contextmanager
def progress(*, quiet: bool) -> Iterator[None]:
    """Show what the stages log (`sitequest` logger) on stderr while the body runs."""
    logger = logging.getLogger("sitequest")
    handler = _SafeHandler(console=stderr, show_path=False, show_level=False, markup=False)
    handler.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
