"""`sites.yaml`: the one configuration file, typed, with the key and the line of every mistake.

`Settings` is what a person writes; `Settings.site(name)` composes from it the configuration that
the stages take (`assets.config.SiteConfig`). docs/configuration.md lists every key.
"""

from __future__ import annotations

import os
import re
from pathlib import Path
from typing import Any, Literal
from zoneinfo import available_timezones

from pydantic import BaseModel, ConfigDict, Field, ValidationError, field_validator

from assets.checks.config import ChecksConfig
from assets.config import EvaluationConfig, SiteConfig, identifier
from assets.crawling.config import CrawlConfig
from assets.parsing.page import ParseConfig
from retrieval.config import RetrievalConfig
from retrieval.errors import BadInputError
from retrieval.models.config import ModelsConfig

CONFIG_ENV = "SITEQUEST_CONFIG"
HELP = "See docs/configuration.md, or let `sitequest init URL` write a file to begin with."
CONFIG_NAMES = (Path("sites.yaml"), Path(".sitequest/sites.yaml"))
SITE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")


class _Section(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class _Numbers(_Section):
    """A section of numbers: true is not 1, "10" is not 10, and infinity is no budget."""

    model_config = ConfigDict(strict=True, allow_inf_nan=False)


class Scope(_Numbers):
    """Which URLs belong to the site; keys and defaults are those of `CrawlConfig`."""

    hosts: list[str] | None = None
    include: list[str] | None = None
    exclude: list[str] | None = None
    max_depth: int | None = None


class Budgets(_Numbers):
    """What a crawl may cost; keys and defaults are those of `CrawlConfig`."""

    max_pages: int | None = None
    max_body_bytes: int | None = None
    max_total_bytes: int | None = None


class Politeness(_Numbers):
    """How the crawler behaves; keys and defaults are those of `CrawlConfig`."""

    concurrency: int | None = None
    delay_seconds: float | None = None
    timeout_seconds: float | None = None
    retries: int | None = None
    backoff_seconds: float | None = None
    retry_after_cap_seconds: float | None = None
    crawl_delay_cap_seconds: float | None = None
    confirm_gone_seconds: float | None = None
    max_redirects: int | None = None
    contact: str | None = None


class Schedule(_Section):
    """When the site is synced by Dagster's daemon."""

    cron: str
    timezone: str = "UTC"
    enabled: bool = True

    @field_validator("cron")
    @classmethod
    def _cron(cls, value: str) -> str:
        from dagster._utils.schedules import is_valid_cron_string

        if not is_valid_cron_string(value):
            raise ValueError(f"not a cron expression: {value!r} (for example '0 3 * * *')")
        return value

    @field_validator("timezone")
    @classmethod
    def _zone(cls, value: str) -> str:
        if value not in available_timezones():
            raise ValueError(f"not a time zone: {value!r} (for example 'Europe/Vienna')")
        return value


class SiteSettings(_Section):
    """One site as a person writes it in `sites.yaml`."""

    seeds: list[str]
    scope: Scope = Scope()
    host_map: dict[str, str] | None = None
    allow_private: bool | None = None
    sitemaps: bool | None = None
    drop_params: list[str] | None = None
    budgets: Budgets = Budgets()
    politeness: Politeness = Politeness()
    blocks: ParseConfig = ParseConfig()
    checks: ChecksConfig = ChecksConfig()
    schedule: Schedule | None = None
    evaluation: EvaluationConfig | None = None

    def crawl_config(self) -> CrawlConfig:
        """Compose the crawler's configuration; what is not written has the crawler's default.

        Raises pydantic's ValidationError with the crawler's own key names.
        """
        keys: dict[str, Any] = {}
        for source in (self.scope, self.budgets, self.politeness):
            keys |= source.model_dump(exclude_none=True)
        top = {"seeds", "host_map", "allow_private", "sitemaps", "drop_params"}
        return CrawlConfig(**keys, **self.model_dump(include=top, exclude_none=True))


class Settings(_Section):
    """The whole of `sites.yaml`; ``root`` is absolute once loaded."""

    root: Path = Path(".sitequest")
    models: ModelsConfig = ModelsConfig()
    retrieval: RetrievalConfig = RetrievalConfig()
    sites: dict[str, SiteSettings] = Field(min_length=1)
    version: Literal[1] = 1

    @field_validator("sites")
    @classmethod
    def _names(cls, value: dict[str, SiteSettings]) -> dict[str, SiteSettings]:
        for name in value:
            if not SITE_NAME.fullmatch(name):
                raise ValueError(f"site name {name[:80]!r}: at most 64 of a-z, 0-9, '-' and '_'")
        if len({identifier(name) for name in value}) < len(value):
            raise ValueError("two site names differ only in '-' and '_'")
        return value

    def site(self, name: str) -> SiteConfig:
        """Compose the configuration of site ``name`` for the stages.

        Raises BadInputError when there is no such site, naming those there are.
        """
        if name not in self.sites:
            raise BadInputError(
                f"There is no site {name!r} in the configuration.",
                f"Known sites: {', '.join(self.sites)}.",
            )
        site = self.sites[name]
        return SiteConfig(
            name=name,
            root=self.root,
            crawl=site.crawl_config(),
            parse=site.blocks,
            models=self.models,
            retrieval=self.retrieval,
            checks=site.checks,
            evaluation=site.evaluation,
        )

    def only_site(self, name: str | None) -> str:
        """Return ``name``, or the one site there is. Raises BadInputError when it is not clear."""
        if name is not None:
            self.site(name)
            return name
        if len(self.sites) == 1:
            return next(iter(self.sites))
        raise BadInputError(
            "There are several sites in the configuration.",
            f"Name one of: {', '.join(self.sites)}.",
        )


def find_config(explicit: Path | None = None) -> Path:
    """Return the configuration file: the one named, $SITEQUEST_CONFIG, or one lying here."""
    named = explicit or (Path(os.environ[CONFIG_ENV]) if os.environ.get(CONFIG_ENV) else None)
    if named is not None:
        if not named.is_file():
            what = "is a directory" if named.is_dir() else "does not exist"
            raise BadInputError(f"{named} {what}.", "Check --config or SITEQUEST_CONFIG.")
        return named
    for candidate in CONFIG_NAMES:
        if candidate.is_file():
            return candidate
    raise BadInputError(
        "There is no sites.yaml here.",
        "Make one with `sitequest init URL`, name one with --config, or try `make demo` first.",
    )


def load_settings(path: Path) -> Settings:
    """Load and validate ``path``.

    Raises BadInputError that names the file, the key and the line of the first mistakes.
    """
    from ruamel.yaml import YAML
    from ruamel.yaml.error import MarkedYAMLError, YAMLError

    try:
        tree = YAML(typ="rt").load(path.read_text(encoding="utf-8"))
    except MarkedYAMLError as error:
        mark = error.problem_mark
        line = mark.line + 1 if mark else 1
        raise BadInputError(
            f"{path}, line {line}: not valid YAML: {error.problem}.", HELP
        ) from error
    except (OSError, ValueError, RecursionError, YAMLError) as error:
        told = " ".join(str(error).split())[:200]
        raise BadInputError(f"{path} cannot be read: {told}.", HELP) from error
    if not isinstance(tree, dict):
        raise BadInputError(f"{path}: expected a mapping with the key `sites`.", HELP)
    try:
        settings = Settings.model_validate(_plain(tree))
    except ValidationError as error:
        raise BadInputError(_explain(path, tree, error), HELP) from error
    for name, site in settings.sites.items():
        try:
            site.crawl_config()
        except ValidationError as error:
            raise BadInputError(_explain(path, tree, error, ("sites", name)), HELP) from error
    root = settings.root
    return settings.model_copy(update={"root": (path.parent / root).resolve()})


def _plain(node: Any) -> Any:
    """Turn ruamel's tree (which keeps lines and comments) into plain containers."""
    if isinstance(node, dict):
        return {str(key): _plain(value) for key, value in node.items()}
    if isinstance(node, list):
        return [_plain(value) for value in node]
    return node


_SECTION_OF = {
    field: section
    for section, model in (("scope", Scope), ("budgets", Budgets), ("politeness", Politeness))
    for field in model.model_fields
}


def _explain(path: Path, tree: Any, error: ValidationError, site: tuple[str, ...] = ()) -> str:
    """Describe up to five mistakes, each with its key and line.

    ``site`` is where the crawler's flat keys belong when the crawler's configuration complains.
    """
    parts = []
    for item in error.errors()[:5]:
        location = item["loc"]
        if site and location:
            section = _SECTION_OF.get(str(location[0]))
            location = (*site, *((section,) if section else ()), *location)
        location = location or site
        key = ".".join(str(part) for part in location)
        message = item["msg"].removeprefix("Value error, ")
        if item["type"] == "extra_forbidden":
            message = "unknown key"
        parts.append(f"line {_line(tree, location)}: `{key}`: {message}")
    return f"{path}: " + "; ".join(parts) + "."


def _line(tree: Any, location: tuple[int | str, ...]) -> int:
    """Return the 1-based line of the deepest part of ``location`` that is in the file."""
    line = 1
    node: Any = tree
    for part in location:
        try:
            marks: Any = node.lc
            position = marks.key(part) if isinstance(node, dict) else marks.item(part)
            line, node = position[0] + 1, node[part]
        except (KeyError, IndexError, AttributeError, TypeError):
            break
    return line
