"""What commands print: data on stdout, everything else on stderr."""

from __future__ import annotations

import json
import logging
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from rich.console import Console
from rich.logging import RichHandler
from rich.table import Table

from retrieval.errors import SitequestError

stdout = Console(soft_wrap=True, highlight=False)
stderr = Console(stderr=True, highlight=False)


def print_json(value: Any) -> None:
    """Print one JSON document on stdout; times as ISO, keys in the order given."""
    sys.stdout.write(json.dumps(value, indent=2, ensure_ascii=False, default=str) + "\n")


def print_table(title: str, columns: list[str], rows: list[list[Any]]) -> None:
    """Print a table for a person on stdout; crawled text is never read as markup."""
    from rich.markup import escape

    table = Table(title=title, title_justify="left", header_style="bold")
    for column in columns:
        table.add_column(column, overflow="fold")
    for row in rows:
        table.add_row(*(escape("" if cell is None else str(cell)) for cell in row))
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
    handler = RichHandler(console=stderr, show_path=False, show_level=False, markup=False)
    handler.setLevel(logging.WARNING if quiet else logging.INFO)
    logger.setLevel(logging.INFO)
    logger.addHandler(handler)
    try:
        yield
    finally:
        logger.removeHandler(handler)
