"""The measured sites: where they are, how they unpack, how they are served.

They are not part of the repository: $SITEQUEST_DATA names their directory, else `../shared` beside
the checkout is taken.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.request import Request, urlopen

from retrieval.errors import BadInputError

DATA_ENV = "SITEQUEST_DATA"


@dataclass(frozen=True)
class MeasuredSite:
    """A real site: its archive, the directory in it, where the crawl begins, its public host."""

    name: str
    archive: str
    directory: str
    label: str
    host: str
    seed_path: str

    @property
    def seed(self) -> str:
        """Return the public URL the crawl begins at."""
        return f"http://{self.host}{self.seed_path}"


UCSD = MeasuredSite(
    "ucsd_catalog", "ucsd_catalog_html", "ucsd", "current", "catalog.ucsd.example",
    "/catalog/index.html",
)  # fmt: skip
BERKELEY = MeasuredSite(
    "berkeley_guide", "berkeley_guide_2021-22", "2021-22", "2021-22", "guide.berkeley.edu",
    "/index.html",
)  # fmt: skip
POSTGRESQL = MeasuredSite(
    "postgresql_docs", "postgresql_docs_15", "postgresql-docs", "15", "postgresql.example",
    "/index.html",
)  # fmt: skip
SITES = {"ucsd": UCSD, "berkeley": BERKELEY, "postgresql": POSTGRESQL}


def data_directory() -> Path | None:
    """Return the directory of the measured data, or None where there is none."""
    named = os.environ.get(DATA_ENV)
    path = Path(named) if named else Path(__file__).resolve().parents[3] / "shared"
    return path if (path / "sites").is_dir() else None


def unpack(site: MeasuredSite, data: Path | None, home: Path) -> Path:
    """Unpack the site's archive below ``home`` once and return its root.

    Raises BadInputError when the data are not here.
    """
    if data is None:
        raise BadInputError(
            "The measured sites are not here.", f"Set {DATA_ENV} to the directory that holds them."
        )
    target = home / "sites" / site.archive
    if not (target / ".complete").exists():
        archive = data / "sites" / f"{site.archive}.tar.xz"
        if not archive.is_file():
            raise BadInputError(f"There is no {archive.name} in the data.", f"Check {DATA_ENV}.")
        target.mkdir(parents=True, exist_ok=True)
        with tarfile.open(archive) as tar:
            tar.extractall(target, filter="data")
        (target / ".complete").touch()
    return target / site.directory


@dataclass(frozen=True)
class Served:
    """A site server in a process of its own: address and admin access."""

    url: str
    admin: str
    token: str

    def admin_call(self, method: str, path: str, body: Any = None) -> Any:
        """Call the admin port and return its JSON."""
        data = None if body is None else json.dumps(body).encode()
        request = Request(f"{self.admin}{path}", data=data, method=method)  # noqa: S310 (loopback)
        request.add_header("Authorization", f"Bearer {self.token}")
        request.add_header("Content-Type", "application/json")
        with urlopen(request, timeout=60) as response:  # noqa: S310 (loopback)
            return json.loads(response.read())


@contextmanager
def served(versions: dict[str, Path]) -> Iterator[Served]:
    """Serve directories in another process, so that serving is not counted as syncing."""
    command = [sys.executable, "-m", "pipelines.cli.main", "site-server", "--port", "0", "--json"]
    command += [f"{name}={path}" for name, path in versions.items()]
    process = subprocess.Popen(command, stdout=subprocess.PIPE, text=True)
    try:
        yield _announced(process)
    finally:
        process.terminate()
        process.wait(timeout=30)


def _announced(process: subprocess.Popen[str]) -> Served:
    """Read the JSON document a site server prints when it listens."""
    if process.stdout is None:
        raise RuntimeError("the site server has no stdout")
    text = ""
    for line in process.stdout:
        text += line
        if line.rstrip() == "}":
            break
    facts = json.loads(text)
    return Served(facts["url"], facts["admin"], facts["admin_token"])
