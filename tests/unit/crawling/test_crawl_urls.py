from __future__ import annotations

from urllib.parse import urljoin

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from assets.crawling.config import CrawlConfig, host_of, in_scope
from assets.crawling.urls import UrlRules, clean

CONFIG = CrawlConfig(
    seeds=["https://www.example.edu/index.html"],
    hosts=["www.example.edu", "*.lib.example.edu", "localhost:8000"],
    host_map={"www.example.edu": "http://127.0.0.1:8001/mirror/"},
)
RULES = UrlRules(CONFIG)


@pytest.mark.parametrize(
    ("url", "cleaned"),
    [
        ("HTTP://WWW.Example.EDU", "http://www.example.edu/"),
        ("http://a.edu:80/x#top", "http://a.edu/x"),
        ("https://a.edu:443/x", "https://a.edu/x"),
        ("https://a.edu:80/x", "https://a.edu:80/x"),
        ("http://a.edu/a/./b/../c/", "http://a.edu/a/c/"),
        ("http://a.edu/../../x", "http://a.edu/x"),
        ("http://a.edu/a/..", "http://a.edu/"),
        ("http://a.edu/größe und maß?q=ü x", "http://a.edu/gr%C3%B6%C3%9Fe%20und%20ma%C3%9F?q=%C3%BC%20x"),
        ("http://a.edu/100%", "http://a.edu/100%25"),
        ("http://a.edu/%7Ejoe?b=2&a=1", "http://a.edu/%7Ejoe?b=2&a=1"),
        ("http://bücher.example/", "http://xn--bcher-kva.example/"),
        ("http://a.edu./x", "http://a.edu/x"),
        ("http://[::1]:8000/x", "http://[::1]:8000/x"),
    ],
)  # fmt: skip
def test_clean_is_what_a_browser_requests(url: str, cleaned: str) -> None:
    assert clean(url) == cleaned


@pytest.mark.parametrize(
    "url", ["mailto:a@b.edu", "/relative", "http://", "http://a.edu:port/", "http://u:p@a.edu/",
            "http://[::1/", "javascript:void(0)", "http://a.edu/" + "x" * 3000, "http://a..b/"],
)  # fmt: skip
def test_clean_refuses_what_is_no_page(url: str) -> None:
    assert clean(url) is None


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.edu/x?b=2&a=1", "http://a.edu/x?a=1&b=2"),
        ("http://a.edu/x?utm_source=n&a=1", "http://a.edu/x?a=1"),
        ("http://a.edu/x?UTM_Medium=n", "http://a.edu/x"),
        ("http://a.edu/x?PHPSESSID=77", "http://a.edu/x?"),
        ("http://a.edu/x;jsessionid=1F", "http://a.edu/x"),
        ("http://a.edu/x;jsessionid=1F/y", "http://a.edu/x/y"),
        ("http://a.edu/%7Ejoe/%c3%a4", "http://a.edu/~joe/%C3%A4"),
        ("HTTP://A.edu:80/x#f", "http://a.edu/x"),
    ],
)
def test_key_joins(one: str, other: str) -> None:
    assert RULES.key_of(one) == RULES.key_of(other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("http://a.edu/x", "http://a.edu/x/"),
        ("http://a.edu/x", "https://a.edu/x"),
        ("http://a.edu/X", "http://a.edu/x"),
        ("http://a.edu/x?a=1&a=2", "http://a.edu/x?a=2&a=1"),
        ("http://a.edu/x?id=1", "http://a.edu/x?id=2"),
        ("http://a.edu/a%2Fb", "http://a.edu/a/b"),
        ("http://a.edu/", "http://a.edu/index.html"),
        ("http://a.edu/x;v=1", "http://a.edu/x"),
    ],
)
def test_key_does_not_join_without_proof(one: str, other: str) -> None:
    assert RULES.key_of(one) != RULES.key_of(other)


def test_dropped_parameters_are_the_configured_ones() -> None:
    rules = UrlRules(CrawlConfig(seeds=["http://a.edu/"], drop_params=["view_*"]))
    assert rules.key_of("http://a.edu/?view_mode=x&utm_source=y") == "http://a.edu/?utm_source=y"


def test_the_key_does_not_depend_on_where_the_site_is_served() -> None:
    unmapped = UrlRules(CrawlConfig(seeds=["https://www.example.edu/"]))
    url = "https://www.example.edu/a?b=1"
    assert RULES.key(url) == unmapped.key(url)


PATHS = st.text("abc/%~äß ;=.-", max_size=20)
QUERIES = st.lists(st.tuples(st.sampled_from(["a", "b", "utm_x", "é"]), PATHS), max_size=4)


@given(PATHS, QUERIES)
def test_clean_and_key_are_idempotent(path: str, query: list[tuple[str, str]]) -> None:
    url = "http://a.edu/" + path + "?" + "&".join(f"{k}={v}" for k, v in query)
    cleaned = clean(url)
    assert cleaned is not None
    assert clean(cleaned) == cleaned
    key = RULES.key(cleaned)
    assert RULES.key_of(key) == key
    assert "utm_x" not in key.partition("?")[2]


@given(st.lists(st.sampled_from(["a", "b", "c", "d"]), unique=True), st.randoms())
def test_key_ignores_the_order_of_names(names: list[str], random: object) -> None:
    shuffled = list(names)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    one, other = (
        "http://a.edu/?" + "&".join(f"{n}=1" for n in order) for order in (names, shuffled)
    )
    assert RULES.key_of(one) == RULES.key_of(other)


def test_mapping_there_and_back() -> None:
    url = "https://www.example.edu/a/b?c=1"
    served = RULES.to_served(url)
    assert served == "http://127.0.0.1:8001/mirror/a/b?c=1"
    assert RULES.to_public(served) == url
    assert RULES.to_public("http://127.0.0.1:8001/mirror") == "https://www.example.edu/"
    assert RULES.to_public("http://127.0.0.1:8001/mirrored/x") == "http://127.0.0.1:8001/mirrored/x"
    assert RULES.to_served("http://other.edu/x") == "http://other.edu/x"
    assert RULES.is_mapped(url)
    assert not RULES.is_mapped("http://a.lib.example.edu/")


def test_scope() -> None:
    assert RULES.in_scope("http://www.example.edu/")
    assert RULES.in_scope("http://a.b.lib.example.edu/")
    assert RULES.in_scope("http://localhost:8000/")
    for url in ("http://example.edu/", "http://lib.example.edu/", "http://localhost/",
                "http://www.example.edu.evil.net/", "http://evil.net/www.example.edu",
                "http://xlib.example.edu/"):  # fmt: skip
        assert not RULES.in_scope(url), url
    assert in_scope("a.x.edu", frozenset({"*.x.edu"}))
    assert host_of("https://A.edu:443/") == "a.edu"


def test_filters_see_path_and_query() -> None:
    rules = UrlRules(
        CrawlConfig(seeds=["http://a.edu/"], include=["^/docs/"], exclude=[r"\?print="])
    )
    assert rules.wanted("http://a.edu/docs/x")
    assert not rules.wanted("http://a.edu/docs/x?print=1")
    assert not rules.wanted("http://a.edu/x/docs/")


@pytest.mark.parametrize(
    ("settings", "says"),
    [
        ({"seeds": []}, "at least 1"),
        ({"seeds": ["example.edu"]}, "absolute"),
        ({"seeds": ["http://u:p@a.edu/"]}, "password"),
        ({"seeds": ["http://a.edu/"], "hosts": ["b.edu"]}, "none of the hosts"),
        ({"seeds": ["http://a.edu/"], "include": ["("]}, "regular expression"),
        ({"seeds": ["http://a.edu/"], "host_map": {"a.edu": "nowhere"}}, "absolute"),
        ({"seeds": ["http://a.edu/"], "contact": "a\r\nX: y"}, "one line"),
        ({"seeds": ["http://a.edu/"], "max_page": 3}, "Extra inputs"),
    ],
)
def test_bad_configuration_says_why(settings: dict[str, object], says: str) -> None:
    with pytest.raises(ValidationError, match=says):
        CrawlConfig.model_validate(settings)


def test_user_agent_carries_product_and_contact() -> None:
    agent = CrawlConfig(seeds=["http://a.edu/"], contact="mailto:keeper@a.edu").user_agent()
    assert agent.startswith("sitequest/")
    assert agent.endswith("(+mailto:keeper@a.edu)")


def test_urljoin_and_clean_agree_on_relative_links() -> None:
    assert clean(urljoin("http://a.edu/x/y/", "../z?q=1#f")) == "http://a.edu/x/z?q=1"
