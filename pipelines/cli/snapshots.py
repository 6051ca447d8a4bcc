"""`snapshots`, `diff`, `status`: what is kept, what changed, where things stand."""

from __future__ import annotations

from collections import Counter
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any

import typer

from pipelines.cli.options import (
    ConfigOption,
    JsonOption,
    SiteArgument,
    SiteOption,
    settings_of,
)
from pipelines.cli.output import print_json, print_table, stdout
from retrieval.errors import NoSnapshotError

if TYPE_CHECKING:
    from retrieval.snapshot.manifest import Manifest
    from retrieval.snapshot.pagechanges import PageChange

LINE, SHOWN_TEXTS = 140, 6
DIFF_TABLES = ("pages", "blocks", "texts", "facts", "entities", "relations")


def register(app: typer.Typer) -> None:
    """Add the commands to ``app``."""
    app.command("snapshots")(snapshots)
    app.command("diff")(diff)
    app.command("status")(status)


def snapshots(
    site: SiteArgument = None, config: ConfigOption = None, as_json: JsonOption = False
) -> None:
    """List the kept snapshots of SITE, oldest first."""
    from retrieval.snapshot.reader import SiteStore

    settings = settings_of(config)
    store = SiteStore(settings.root, settings.only_site(site))
    manifests = store.list()
    latest = _latest_id(store)
    if as_json:
        print_json([_summary(m, latest) for m in manifests])
        return
    rows = [
        [
            ("* " if m.id == latest else "  ") + m.id,
            m.label,
            f"{m.created:%Y-%m-%d %H:%M}",
            *(m.tables[t].rows for t in ("pages", "blocks", "facts", "entities") if t in m.tables),
        ]
        for m in manifests
    ]
    columns = [
        "snapshot (* published)",
        "label",
        "created (UTC)",
        "pages",
        "blocks",
        "facts",
        "entities",
    ]
    print_table(f"Snapshots of {store.paths.site}", columns, rows)


def _latest_id(store: Any) -> str | None:
    try:
        return str(store.latest().id)
    except NoSnapshotError:
        return None


def _summary(manifest: Manifest, latest: str | None) -> dict[str, Any]:
    return {
        "id": manifest.id,
        "label": manifest.label,
        "created": manifest.created,
        "parent": manifest.parent,
        "published": manifest.id == latest,
        "run_id": manifest.run_id,
        "rows": {name: entry.rows for name, entry in manifest.tables.items()},
    }


def diff(
    a: Annotated[str, typer.Argument(help="Snapshot id, label or date: before.")],
    b: Annotated[str, typer.Argument(help="Snapshot id, label or date: after.")],
    site: SiteOption = None,
    table: Annotated[
        list[str] | None, typer.Option("--table", "-t", help="Only these tables.")
    ] = None,
    rows: Annotated[bool, typer.Option("--rows", help="List the rows, not only counts.")] = False,
    config: ConfigOption = None,
    as_json: JsonOption = False,
) -> None:
    """Show what was added, changed and removed between two snapshots."""
    from retrieval.snapshot.diff import diff as diff_snapshots
    from retrieval.snapshot.diff import summary
    from retrieval.snapshot.pagechanges import page_changes
    from retrieval.snapshot.reader import SiteStore

    settings = settings_of(config)
    store = SiteStore(settings.root, settings.only_site(site))
    before, after = store.resolve(a), store.resolve(b)
    tables = tuple(table or DIFF_TABLES)
    changes = diff_snapshots(before, after, tables)
    counts = {name: summary(changes).get(name, {}) for name in tables}
    if as_json:
        document: dict[str, Any] = {"from": before.id, "to": after.id, "counts": counts}
        document["pages"] = [asdict(change) for change in page_changes(before, after)]
        if rows:
            document["rows"] = changes.to_dicts()
        print_json(document)
        return
    kinds = ("added", "changed", "removed")
    print_table(
        f"{before.id} → {after.id}",
        ["table", *kinds],
        [[name, *(counts[name].get(kind, 0) for kind in kinds)] for name in tables],
    )
    show_pages(page_changes(before, after))
    if rows:
        for name, key, kind, *_ in changes.iter_rows():
            stdout.print(f"{name}\t{kind}\t{key.replace(chr(31), ' ')}", markup=False)


def show_pages(changes: list[PageChange], most: int | None = None) -> None:
    """Print page by page what came and went (at most ``most`` pages), each text cut to a line."""
    kinds = Counter(change.kind for change in changes)
    told = ", ".join(f"{count} {kind}" for kind, count in sorted(kinds.items()))
    stdout.print(f"\nPages: {told or 'none changed'}", style="bold")
    for change in changes[:most]:
        address = f"{change.moved_from} → {change.url}" if change.moved_from else change.url
        stdout.print(f"\n{change.kind}: {change.title}  {address}", markup=False, style="bold")
        texts = [("-", text) for text in change.removed] + [("+", text) for text in change.added]
        for sign, text in texts[:SHOWN_TEXTS]:
            line = " ".join(text.split())
            stdout.print(f"  {sign} {line[:LINE]}{'…' if len(line) > LINE else ''}", markup=False)
        if len(texts) > SHOWN_TEXTS:
            stdout.print(f"  … and {len(texts) - SHOWN_TEXTS} more texts", style="dim")
    if most is not None and len(changes) > most:
        stdout.print(f"\n… and {len(changes) - most} more pages: sitequest diff A B", style="dim")


def status(config: ConfigOption = None, as_json: JsonOption = False) -> None:
    """Say for every site what is published, how old it is, and what is held."""
    from datetime import UTC, datetime

    from retrieval.snapshot.reader import SiteStore, directories

    settings = settings_of(config)
    report: list[dict[str, Any]] = []
    for name in settings.sites:
        store = SiteStore(settings.root, name)
        latest = _latest_id(store)
        manifest = store.latest().manifest if latest else None
        age = (datetime.now(UTC) - manifest.created).total_seconds() if manifest else None
        report.append(
            {
                "site": name,
                "published": latest,
                "label": manifest.label if manifest else None,
                "age_hours": None if age is None else round(age / 3600, 2),
                "pages_live": manifest.stats.get("pages.live") if manifest else None,
                "snapshots": len(directories(store.paths.snapshots)),
                "held": directories(store.paths.held),
                "schedule": s.cron if (s := settings.sites[name].schedule) else None,
            }
        )
    if as_json:
        print_json(report)
        return
    columns = ["site", "published", "age (h)", "live pages", "kept", "held", "schedule"]
    keys = ("site", "published", "age_hours", "pages_live", "snapshots")
    rows = [
        [*(r[key] for key in keys), ", ".join(r["held"]) or "-", r["schedule"] or "-"]
        for r in report
    ]
    print_table("Sites", columns, rows)
    for entry in report:
        if entry["published"] is None:
            stdout.print(
                f"{entry['site']}: no snapshot yet. Make one: sitequest sync {entry['site']}"
            )
