"""One page: headings, tables, lists, code, hidden text, landmarks, links, conservation."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from pydantic import ValidationError
from selectolax.lexbor import LexborNode

from assets.parsing.dom import NOT_TEXT, parse
from assets.parsing.model import Draft
from assets.parsing.page import ParseConfig, ParsedPage, parse_page

URL = "https://example.org/dir/page"
PROSE = "The office answers every letter within a week and keeps a copy of each answer given. "


def parsed(html: str, **config: object) -> ParsedPage:
    page = parse_page(html, URL, ParseConfig.model_validate(config))
    assert page.conserved
    return page


def kept(html: str, **config: object) -> list[Draft]:
    return [draft for draft in parsed(html, **config).drafts if draft.reason is None]


def paths(drafts: list[Draft]) -> list[list[str]]:
    return [[text for _, text in draft.heads] for draft in drafts]


def reasons(html: str, **config: object) -> dict[str, str | None]:
    return {draft.text: draft.reason for draft in parsed(html, **config).drafts}


def test_the_heading_is_the_first_line_and_closes_its_level_and_deeper() -> None:
    drafts = kept("<h1>T</h1><h2>A</h2><p>one</p><h4>Deep</h4><p>two</p><h3>C</h3><p>three</p>"
                  "<h2>B</h2><p>four</p>")  # fmt: skip
    assert [d.text for d in drafts] == ["T", "A\none", "Deep\ntwo", "C\nthree", "B\nfour"]
    assert [d.kind for d in drafts] == ["heading", "prose", "prose", "prose", "prose"]
    assert paths(drafts) == [["T"], ["T", "A"], ["T", "A", "Deep"], ["T", "A", "C"], ["T", "B"]]


def test_text_before_the_first_heading_has_no_heading() -> None:
    drafts = kept("<title>Title</title><p>lead</p><h1>T</h1><p>body</p>")
    assert paths(drafts) == [[], ["T"]]


def test_aria_headings_and_misused_headings() -> None:
    long = "word " * 60
    drafts = kept(f'<div role="heading" aria-level="3">A</div><p>a</p><h2>{long}</h2><p>b</p>')
    assert paths(drafts) == [["A"]]
    assert drafts[0].text.startswith("A\na\nword word")


def test_a_heading_in_a_list_item_ends_with_it() -> None:
    drafts = kept("<h2>People</h2><ul><li><h3>Ann</h3>dean<li><h3>Bob</h3>clerk</ul><p>after</p>")
    assert paths(drafts) == [["People"], ["People", "Ann"], ["People", "Bob"], ["People"]]


def test_summaries_are_headings_of_their_details() -> None:
    drafts = kept("<h2>FAQ</h2><details><summary>How?</summary>So.</details>"
                  "<details><summary>Why?</summary>Because.</details>")  # fmt: skip
    assert paths(drafts) == [["FAQ"], ["FAQ", "How?"], ["FAQ", "Why?"]]
    assert drafts[2].text == "Why?\nBecause."


def test_short_siblings_merge_up_to_the_limit_and_never_across_a_heading() -> None:
    html = "<h2>A</h2>" + "<p>five words are in here</p>" * 10 + "<h2>B</h2><p>x</p>"
    drafts = kept(html, max_words=30)
    assert all(draft.words <= 30 for draft in drafts)
    assert len(drafts) <= 4
    assert drafts[-1].text == "B\nx"


def test_a_heading_goes_with_its_text_even_when_that_must_be_split() -> None:
    drafts = kept("<h2>Title of it</h2><p>" + PROSE * 10)
    assert drafts[0].text.startswith("Title of it\nThe office")
    assert all(draft.words <= 150 for draft in drafts)


def test_a_notice_in_a_container_of_its_own_stays_apart() -> None:
    html = (
        '<h1>T</h1><div class="body"><div class="notice"><p>This is an archived copy.</p></div>'
        f'<div class="text"><p>{PROSE}</p><p>{PROSE}</p></div></div>'
    )
    assert "This is an archived copy." in [draft.text for draft in kept(html)]


def test_table_rows_keep_columns_and_later_parts_the_header() -> None:
    rows = "".join(f"<tr><td>Course {n}</td><td></td><td>{n} units</td></tr>" for n in range(60))
    drafts = kept(f"<table><tr><th>Name</th><th>Term</th><th>Size</th></tr>{rows}</table>")
    assert len(drafts) > 1
    assert all(draft.kind == "table" for draft in drafts)
    assert drafts[0].text.startswith("Name\tTerm\tSize\nCourse 0\t\t0 units\n")
    assert drafts[0].context is None
    assert {draft.context for draft in drafts[1:]} == {"Name\tTerm\tSize"}
    joined = "\n".join(draft.text for draft in drafts)
    assert joined.count("Name") == 1
    assert joined.endswith("Course 59\t\t59 units")


def test_spans_keep_columns_in_place_and_label_rows_are_context() -> None:
    body = "".join(f"<tr><td>item {n}</td><td>{n} euro</td></tr>" for n in range(60))
    drafts = kept(
        "<table><thead><tr><th>What<th>Cost</tr></thead><tr><td colspan=2>Group one</td></tr>"
        f"<tr><td rowspan=2>Double</td><td>1</td></tr><tr><td>2</td></tr>{body}</table>"
    )
    assert "Double\t1\n\t2\n" in drafts[0].text
    assert drafts[1].context == "What\tCost\nGroup one"


def test_layout_tables_are_prose() -> None:
    drafts = kept(f"<table><tr><td><h2>A</h2><p>{PROSE}</td><td><p>{PROSE}</td></tr></table>")
    assert {draft.kind for draft in drafts} == {"prose"}
    assert "\t" not in "".join(draft.text for draft in drafts)


def test_definitions_are_lines_of_term_and_definition() -> None:
    (draft,) = kept("<dl><dt>Phone</dt><dd>555 1234</dd><dt>Fee</dt><dd>10 <b>euro</b></dd></dl>")
    assert draft.kind == "definitions"
    assert draft.text == "Phone\t555 1234\nFee\t10 euro"


def test_a_long_definition_repeats_its_term_as_context() -> None:
    drafts = kept(f"<dl><dt>Term</dt><dd><p>{PROSE * 6}</p><p>{PROSE * 6}</p></dd></dl>")
    assert len(drafts) > 1
    assert drafts[-1].context == "Term"


def test_a_lead_goes_with_its_list_and_is_context_of_later_parts() -> None:
    items = "".join(f"<li>item number {n} of the list of papers</li>" for n in range(40))
    drafts = kept(f"<p>{PROSE}</p><p>Bring the following:</p><ul>{items}</ul>")
    lead = next(draft for draft in drafts if "Bring" in draft.text)
    assert "Bring the following:\nitem number 0" in lead.text
    assert drafts[-1].context == "Bring the following:"


def test_code_is_byte_exact() -> None:
    code = "def f(x):\n\n    return  x\t# done\n"
    (draft,) = kept(f"<pre><code>{code}</code></pre>")
    assert draft.kind == "code"
    assert draft.text == code


def test_inline_markup_does_not_part_words_and_breaks_part_lines() -> None:
    (draft,) = kept("<p>a<b>b</b>c <i>d</i><br>Phone:&nbsp;1<span hidden></span>2</p>")
    assert draft.text == "abc d\nPhone: 12"


def test_hidden_text_is_dropped_unless_a_control_opens_it() -> None:
    html = (
        f"<p>{PROSE * 5}</p><div hidden><p>secret</p></div>"
        '<button aria-controls="more">Opening hours</button><div id="more" hidden>9 to 5</div>'
        '<a href="#fees">Fees</a><div id="fees" style="display: none">10 euro</div>'
        '<div aria-hidden="true">shown</div><div role="tabpanel" hidden>panel</div>'
    )
    found = parsed(html).drafts
    dropped = {draft.text: draft.reason for draft in found if draft.reason}
    text = "\n".join(draft.text for draft in found if draft.reason is None)
    assert dropped == {"secret": "hidden"}
    for phrase in ("Opening hours", "9 to 5", "10 euro", "shown", "panel"):
        assert phrase in text


def test_landmarks_are_dropped_with_their_reason() -> None:
    html = (
        "<header><a href=/>Home</a></header><nav>Menu</nav>"
        f"<main><h1>T</h1><p>{PROSE * 4}</p><form>Search</form><button>Share</button></main>"
        "<aside>See also</aside><div class='cookie-banner'>We use cookies</div>"
        "<p>stray</p><footer>Phone: 1</footer>"
        "<noscript>Enable it</noscript><svg><text>drawn</text></svg>"
    )
    found = reasons(html)
    assert found["Home"] == "header"
    assert found["Menu"] == "navigation"
    assert found["Search\nShare"] == "form"
    assert found["See also"] == "aside"
    assert found["We use cookies"] == "consent"
    assert found["stray"] == "outside"
    assert found["Phone: 1"] == "footer"
    assert found["Enable it"] == "noscript"
    assert found["drawn"] == "fallback"


def test_guards_spare_what_holds_the_content() -> None:
    assert set(reasons(f"<form><h1>T</h1><p>{PROSE * 5}</p></form>").values()) == {None}
    assert set(reasons(f"<aside><p>{PROSE * 5}</p></aside>").values()) == {None}
    assert set(reasons(f"<div hidden><p>{PROSE * 5}</p></div>").values()) == {None}
    assert set(reasons(f"<noscript><p>{PROSE}</p></noscript>").values()) == {None}
    button = f"<h2>A</h2><p>{PROSE * 4}</p><button><h3>Course 1</h3></button><p>text</p>"
    assert set(reasons(button).values()) == {None}


def test_a_dropped_part_does_not_lend_its_headings() -> None:
    drafts = kept(f"<h1>T</h1><nav><h2>Menu</h2>a</nav><div hidden><h2>X</h2></div><p>{PROSE}</p>")
    assert paths(drafts)[-1] == ["T"]


def test_selectors_override() -> None:
    html = f'<nav class="keep">Kept</nav><p class="ad">Buy</p><p>{PROSE}</p>'
    found = reasons(html, keep=[".keep"], drop=[".ad"])
    assert found["Kept"] is None
    assert found["Buy"] == "override"
    with pytest.raises(ValidationError, match="not a CSS selector"):
        ParseConfig.model_validate({"drop": ["p["]})


def test_links_have_anchor_block_and_region() -> None:
    page = parsed(
        f'<base href="/base/"><nav><a href="a#x">Menu</a></nav><h2>H</h2><p>{PROSE}'
        '<a href="b" rel="next">to <b>b</b></a><a href="/img"><img alt="A picture"></a>'
        '<a href="mailto:x@example.org">mail</a><a href="javascript:x()">no</a>'
    )
    found = [(link.url, link.anchor, link.region, link.rel) for link in page.links]
    assert found == [
        ("https://example.org/base/a", "Menu", "template", None),
        ("https://example.org/base/b", "to b", "content", "next"),
        ("https://example.org/img", "A picture", "content", None),
        ("mailto:x@example.org", "mail", "content", None),
    ]
    assert [link.draft for link in page.links] == [0, 1, None, 1]


TAGS = ["div", "p", "h1", "h2", "h3", "ul", "li", "table", "tr", "td", "th", "thead", "dl", "dt",
        "dd", "pre", "span", "b", "a", "nav", "main", "form", "button", "details", "summary",
        "noscript", "svg", "script", "template", "br", "select", "option", "section"]  # fmt: skip
ATTRIBUTES = ["", " hidden", " class=cookie", " id=x", " href=#x", " role=heading", " colspan=3",
              " rowspan=2", " aria-controls=x", " style='display:none'"]  # fmt: skip
TOKENS = st.one_of(
    st.builds("<{}{}>".format, st.sampled_from(TAGS), st.sampled_from(ATTRIBUTES)),
    st.builds("</{}>".format, st.sampled_from(TAGS)),
    st.sampled_from(
        [" ", "\n", "word ", "Two words: ", "汉字", PROSE, "&nbsp;", "<!-- c -->", "\x00"]
    ),
    st.text(max_size=8),
)


def text_nodes(root: LexborNode) -> Iterator[str]:
    """Yield the characters of every text node in document order: apart from the walk's code."""
    node = root.first_child
    while node is not None:
        if node.is_text_node:
            yield node.text_content or ""
            child = None
        else:
            child = None if node.tag in NOT_TEXT else node.first_child
        node = child if child is not None else _after(node, root)


def _after(node: LexborNode, root: LexborNode) -> LexborNode | None:
    current: LexborNode | None = node
    while current is not None and current.mem_id != root.mem_id:
        if (following := current.next) is not None:
            return following
        current = current.parent
    return None


@given(st.lists(TOKENS, max_size=60).map("".join), st.sampled_from([20, 150]))
@settings(max_examples=300, deadline=None)
def test_any_markup_is_conserved_bounded_and_repeatable(html: str, limit: int) -> None:
    config = ParseConfig(max_words=limit)
    page = parse_page(html, URL, config)
    assert page.conserved
    root = parse(html).root
    assert root is not None
    source = "".join("".join(text_nodes(root)).split())
    assert "".join("".join(draft.text for draft in page.drafts).split()) == source
    assert all(0 < draft.words <= limit for draft in page.drafts)
    assert all(link.draft is None or link.draft < len(page.drafts) for link in page.links)
    again = parse_page(html, URL, config)
    assert [(d.text, d.heads, d.reason) for d in again.drafts] == [
        (d.text, d.heads, d.reason) for d in page.drafts
    ]


@pytest.mark.parametrize(
    "html",
    [
        "<div>word " * 10_000,
        "<ul><li><h3>a</h3>b " * 10_000,
        "<table><tr><td>x " * 5_000,
        "<nav><h2>x</h2> y " * 5_000,
        "<p>" + "x" * 3_000_000,
        "<p>" + "<span hidden>x</span>y" * 10_000,
        "<table><tr>" + "<td rowspan=9999 colspan=9999>x" * 2_000,
        "",
        "\x00\x01<\uffff",
    ],
    ids=["depth", "lists", "tables", "navs", "long word", "cuts", "spans", "empty", "garbage"],
)
def test_hostile_pages_are_read(html: str) -> None:
    page = parse_page(html, URL, ParseConfig())
    assert page.conserved
    assert all(draft.words <= 150 for draft in page.drafts)
