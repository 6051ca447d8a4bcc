"""Where things lie below the data root: the one place that knows the directory names."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

MANIFEST = "manifest.json"
VECTORS = "vectors.lance"
SEARCH = "search"
# Present in a directory while it is being built or moved; a finished snapshot has none.
CANDIDATE = "candidate.json"
# Notes of the steps of one build; gone when the candidate is published or held.
BUILD = ".build"


@dataclass(frozen=True)
class SitePaths:
    """Paths of one site: ``root`` is the data root, ``site`` a name of [a-z0-9_-]+."""

    root: Path
    site: str

    @property
    def home(self) -> Path:
        """Return the directory of the site."""
        return self.root / self.site

    @property
    def snapshots(self) -> Path:
        """Return the directory of the published snapshots."""
        return self.home / "snapshots"

    @property
    def staging(self) -> Path:
        """Return the directory of candidates being built."""
        return self.home / "staging"

    @property
    def held(self) -> Path:
        """Return the directory of candidates that a check keeps back."""
        return self.home / "held"

    @property
    def bodies(self) -> Path:
        """Return the directory of raw bodies, one Parquet part per crawl."""
        return self.home / "bodies"

    @property
    def journal(self) -> Path:
        """Return the directory of crawl journals."""
        return self.home / "journal"

    @property
    def traces(self) -> Path:
        """Return the directory of question traces."""
        return self.home / "traces"

    @property
    def results(self) -> Path:
        """Return the directory of evaluation results."""
        return self.home / "results"

    @property
    def answers(self) -> Path:
        """Return the directory of remembered answers."""
        return self.home / "answers"

    @property
    def pins(self) -> Path:
        """Return the file that names the snapshots retention must keep."""
        return self.home / "pins.json"

    @property
    def latest(self) -> Path:
        """Return the pointer to the published snapshot."""
        return self.home / "LATEST.json"

    @property
    def lock(self) -> Path:
        """Return the file that a writer locks."""
        return self.home / "writer.lock"

    def table_file(self, snapshot_dir: Path, table: str) -> Path:
        """Return the Parquet file of ``table`` below a snapshot or staging directory."""
        return snapshot_dir / f"{table}.parquet"
