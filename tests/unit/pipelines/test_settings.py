"""sites.yaml: what is read, and how a mistake is named."""

from __future__ import annotations

from pathlib import Path

import pytest

from pipelines.settings import find_config, load_settings
from retrieval.errors import BadInputError

GOOD = """\
root: data
sites:
  one:
    seeds: [https://www.one.example/]
    scope:
      exclude: ["/calendar/"]
    host_map: {www.one.example: "http://127.0.0.1:8123"}
    budgets: {max_pages: 50}
    politeness: {contact: keeper@one.example}
    schedule: {cron: "0 3 * * *"}
  two:
    seeds: [https://two.example/a, https://two.example/b]
"""


def write(directory: Path, text: str) -> Path:
    path = directory / "sites.yaml"
    path.write_text(text, encoding="utf-8")
    return path


def test_sections_become_the_crawler_configuration(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, GOOD))
    site = settings.site("one")
    assert settings.root == tmp_path / "data"
    assert site.crawl.max_pages == 50
    assert site.crawl.exclude == ["/calendar/"]
    assert site.crawl.contact == "keeper@one.example"
    assert site.crawl.host_map == {"www.one.example": "http://127.0.0.1:8123"}
    assert site.crawl.concurrency == type(site.crawl).model_fields["concurrency"].default
    assert settings.site("two").crawl.scope() == {"two.example"}


@pytest.mark.parametrize(
    ("old", "new", "line", "key"),
    [
        ("budgets:", "budget:", 8, "sites.one.budget"),
        ("max_pages: 50", "max_pages: many", 8, "sites.one.budgets.max_pages"),
        ("max_pages: 50", "max_pages: 0", 8, "sites.one.budgets.max_pages"),
        ('"/calendar/"', '"["', 6, "sites.one.scope.exclude"),
        ("https://www.one.example/", "ftp://one.example/", 4, "sites.one.seeds"),
        ('cron: "0 3 * * *"', "cron: daily-ish", 10, "sites.one.schedule.cron"),
        ("root: data", "rot: data", 1, "rot"),
    ],
)
def test_a_mistake_is_named_with_key_and_line(
    tmp_path: Path, old: str, new: str, line: int, key: str
) -> None:
    assert old in GOOD
    with pytest.raises(BadInputError) as caught:
        load_settings(write(tmp_path, GOOD.replace(old, new)))
    assert f"line {line}: `{key}" in str(caught.value)


def test_broken_yaml_names_the_line(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="line 3"):
        load_settings(write(tmp_path, "root: data\nsites: {one: [\n"))


def test_a_file_with_no_sites_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BadInputError, match="sites"):
        load_settings(write(tmp_path, "root: data\n"))
    with pytest.raises(BadInputError, match="sites"):
        load_settings(write(tmp_path, ""))


def test_the_site_must_be_clear(tmp_path: Path) -> None:
    settings = load_settings(write(tmp_path, GOOD))
    assert settings.only_site("two") == "two"
    with pytest.raises(BadInputError, match="several"):
        settings.only_site(None)
    with pytest.raises(BadInputError, match="one, two"):
        settings.only_site("three")


def test_where_the_configuration_is_looked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("SITEQUEST_CONFIG", raising=False)
    monkeypatch.chdir(tmp_path)
    with pytest.raises(BadInputError, match=r"sitequest init"):
        find_config()
    (tmp_path / ".sitequest").mkdir()
    (tmp_path / ".sitequest/sites.yaml").touch()
    assert find_config() == Path(".sitequest/sites.yaml")
    write(tmp_path, GOOD)
    assert find_config() == Path("sites.yaml")
    monkeypatch.setenv("SITEQUEST_CONFIG", str(tmp_path / "missing.yaml"))
    with pytest.raises(BadInputError, match=r"missing\.yaml"):
        find_config()


def test_what_shapes_no_row_is_not_in_the_fingerprint(tmp_path: Path) -> None:
    first = load_settings(write(tmp_path, GOOD)).site("one").fingerprint
    moved = GOOD.replace("8123", "9999").replace("keeper@", "owner@").replace("data", "other")
    assert load_settings(write(tmp_path, moved)).site("one").fingerprint == first
    shaped = GOOD.replace("/calendar/", "/events/")
    assert load_settings(write(tmp_path, shaped)).site("one").fingerprint != first
