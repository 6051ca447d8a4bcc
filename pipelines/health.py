"""The examinations behind `sitequest doctor`: each a finding with a status and a remedy."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Callable, Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Literal

from pydantic import BaseModel

from pipelines.instance import dagster_home, prepare_home
from pipelines.settings import Settings
from retrieval.errors import NoSnapshotError, SitequestError
from retrieval.models.config import ModelSpec

MIN_FREE_GIB = 2.0


class Finding(BaseModel):
    """What was examined, how it stands, and what to do when it does not stand well."""

    what: str
    status: Literal["ok", "warn", "fail"]
    detail: str
    remedy: str = ""


def examine(settings: Settings) -> list[Finding]:
    """Examine models, disk, links, Dagster's home, and every site's store and reachability."""
    steps: list[tuple[str, Callable[[], Iterator[Finding]]]] = [
        ("models", lambda: _models(settings)),
        ("data root", lambda: _root(settings.root)),
        ("dagster", lambda: _dagster(settings.root)),
        *((f"snapshots of {n}", lambda n=n: _store(settings, n)) for n in settings.sites),
        *((f"site {n}", lambda n=n: _site(settings, n)) for n in settings.sites),
    ]
    findings: list[Finding] = []
    for what, step in steps:
        try:
            findings += step()
        except SitequestError as error:
            findings.append(
                Finding(what=what, status="fail", detail=error.message, remedy=error.remedy)
            )
    return findings


def _models(settings: Settings) -> Iterator[Finding]:
    from retrieval.models.load import Role, verify_model

    models = settings.models
    specs: tuple[tuple[Role, ModelSpec], ...] = (
        ("embedder", models.embedder),
        ("reranker", models.reranker),
        ("ner", models.ner),
    )
    for role, spec in specs:
        what = f"model {spec.name} ({role})"
        try:
            status = verify_model(role, spec)
        except SitequestError as error:
            yield Finding(what=what, status="fail", detail=error.message, remedy=error.remedy)
        else:
            yield Finding(what=what, status="ok", detail=f"sha256 {status.sha256[:16]} as pinned")


def _root(root: Path) -> Iterator[Finding]:
    try:
        root.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(prefix=".doctor-", dir=root) as directory:
            yield _links(Path(directory))
    except OSError as error:
        yield Finding(
            what="data root",
            status="fail",
            detail=f"{root} cannot be written: {error.strerror}",
            remedy="Set `root` in sites.yaml to a directory you may write to.",
        )
        return
    free = shutil.disk_usage(root).free / 2**30
    enough = free >= MIN_FREE_GIB
    yield Finding(
        what="disk",
        status="ok" if enough else "fail",
        detail=f"{free:.1f} GiB free at {root}",
        remedy="" if enough else f"Free {MIN_FREE_GIB:.0f} GiB or set `root` to a larger disk.",
    )


def _links(directory: Path) -> Finding:
    source, target = directory / "a", directory / "b"
    source.write_bytes(b"x")
    try:
        os.link(source, target)
    except OSError as error:
        return Finding(
            what="hard links",
            status="warn",
            detail=f"not to be had here ({error.strerror}): unchanged tables are copied",
            remedy="Put `root` on a file system with hard links to save space.",
        )
    return Finding(what="hard links", status="ok", detail="unchanged tables cost no space")


def _dagster(root: Path) -> Iterator[Finding]:
    try:
        prepare_home(root)
        installed = version("dagster")
    except (OSError, PackageNotFoundError) as error:
        yield Finding(
            what="dagster",
            status="fail",
            detail=str(error),
            remedy="Run `make setup`; check that the data root can be written.",
        )
        return
    yield Finding(what="dagster", status="ok", detail=f"{installed}, home {dagster_home(root)}")


def _store(settings: Settings, name: str) -> Iterator[Finding]:
    from retrieval.snapshot.reader import SiteStore, verify

    what = f"snapshots of {name}"
    try:
        snapshot = SiteStore(settings.root, name).latest()
    except NoSnapshotError:
        yield Finding(
            what=what, status="warn", detail="none yet", remedy=f"Run `sitequest sync {name}`."
        )
        return
    damaged = verify(snapshot)
    yield Finding(
        what=what,
        status="fail" if damaged else "ok",
        detail="; ".join(str(item) for item in damaged)
        or f"{snapshot.id}: every file as published",
        remedy="Restore the file from a backup, or sync again." if damaged else "",
    )


def _site(settings: Settings, name: str) -> Iterator[Finding]:
    from assets.crawling.probe import reach

    for outcome in reach(settings.site(name).crawl):
        good = outcome.status is not None and outcome.status < 400
        yield Finding(
            what=f"site {name}",
            status="ok" if good else "fail",
            detail=f"{outcome.url}: {outcome.detail}",
            remedy=""
            if good
            else "Check the address, the network, robots.txt, and `host_map` in sites.yaml.",
        )
