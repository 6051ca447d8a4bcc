"""`sitequest bench`: measure one promise of the product."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from pipelines.cli.options import JsonOption, QuietOption
from pipelines.cli.output import print_json, print_table, progress
from retrieval.errors import BadInputError


def register(app: typer.Typer) -> None:
    """Add the command to ``app``."""
    app.command("bench")(bench)


def bench(
    name: Annotated[str | None, typer.Argument(help="Benchmark; see --list.")] = None,
    site: Annotated[str | None, typer.Option("--site", help="One of the measured sites.")] = None,
    only: Annotated[
        list[str] | None, typer.Option("--only", help="Only these parts; may be repeated.")
    ] = None,
    fresh: Annotated[
        bool, typer.Option("--fresh", help="Forget results of an earlier run (not the cache).")
    ] = False,
    home: Annotated[
        Path, typer.Option("--home", help="Working directory of the benchmarks.")
    ] = Path(".sitequest/bench"),
    list_all: Annotated[bool, typer.Option("--list", help="List the benchmarks.")] = False,
    as_json: JsonOption = False,
    quiet: QuietOption = False,
) -> None:
    """Run benchmark NAME; docs/benchmarks.md has the last figures."""
    from pipelines.benchmarks.data import data_directory
    from pipelines.benchmarks.registry import BENCHMARKS, Options, find

    if list_all:
        rows = [[b.name, b.about] for b in BENCHMARKS.values()]
        if as_json:
            print_json([{"name": n, "about": a} for n, a in rows])
        else:
            print_table("Benchmarks", ["name", "shows"], rows)
        return
    if name is None:
        raise BadInputError("Which benchmark?", f"There are: {', '.join(BENCHMARKS)}.")
    options = Options(home.resolve(), data_directory(), site, tuple(only or ()), fresh)
    with progress(quiet=quiet):
        figures = find(name).load()(options)
    if as_json:
        print_json(figures)
    else:
        print_table(name, ["figure", "value"], [[key, value] for key, value in figures.items()])
