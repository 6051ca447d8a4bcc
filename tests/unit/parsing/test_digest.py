from __future__ import annotations

import pytest

from assets.parsing.digest import decode, page_digest, resolve
from assets.parsing.encoding import codec_of


@pytest.mark.parametrize(
    ("body", "header", "text", "codec"),
    [
        ("\ufeffgrün".encode(), "text/html; charset=latin1", "grün", "utf-8"),
        (b"\xff\xfeg\x00", None, "g", "utf-16-le"),
        ("grün".encode("cp1252"), "text/html; charset=ISO-8859-1", "grün", "windows-1252"),
        (b'<meta charset="gb2312">' + "汉".encode("gbk"), None, None, "gb18030"),
        (b'<!-- <meta charset="big5"> --><p>\xc3\xa4', None, None, "utf-8"),
        (b'<meta charset="utf-16">x', None, None, "utf-8"),
        (b'<meta http-equiv=Content-Type content="x; charset=koi8-r">', None, None, "koi8-r"),
        ("“q”".encode("cp1252"), None, "“q”", "windows-1252"),
        (b"x", "text/html; charset=rot13", "x", "utf-8"),
        (b"\xc3", "text/html; charset=utf-8", "\ufffd", "utf-8"),
    ],
)  # fmt: skip
def test_decode_follows_bom_header_meta_and_sniffing(
    body: bytes, header: str | None, text: str | None, codec: str
) -> None:
    found, used = decode(body, header)
    assert used == codec
    assert text is None or found == text


def test_only_labels_of_the_standard_are_codecs() -> None:
    assert codec_of(" UTF8 ") == "utf-8"
    for label in ("utf-7", "base64", "zip", "idna", "unicode_escape", ""):
        assert codec_of(label) is None


def test_the_digest_reads_head_and_words() -> None:
    html = b"""<html lang="en-GB"><head><base href="/dir/"><title> A
      page </title><link rel="next canonical" href="c?x=1">
      <meta http-equiv="Refresh" content="5; URL='next.html'"></head>
      <body><p>Two words</p><script>not text</script><style>no</style></body></html>"""
    found = page_digest(html, None, "https://example.org/a/b")
    assert found.title == "A page"
    assert found.language == "en"
    assert found.base_url == "https://example.org/dir/"
    assert found.canonical_url == "https://example.org/dir/c?x=1"
    assert found.meta_refresh == "https://example.org/dir/next.html"
    assert found.meta_refresh_seconds == 5
    assert found.words == 2


def test_the_content_hash_sees_text_and_not_markup() -> None:
    def hashed(html: str) -> str:
        return page_digest(html.encode(), None, "https://example.org/").content_hash

    assert hashed("<p>a b</p><p>c</p>") == hashed("<div class=x>a\n <b>b</b> c</div><!-- d -->")
    assert hashed("<p>a b</p>") != hashed("<p>a d</p>")


@pytest.mark.parametrize(
    ("href", "expected"),
    [
        (" x\ny ", "https://example.org/a/xy"),
        ("//other.org", "https://other.org"),
        ("mailto:a@b", None),
        ("javascript:void(0)", None),
        ("http://[bad", None),
        ("http://", None),
    ],
)
def test_addresses_are_resolved_as_browsers_do(href: str, expected: str | None) -> None:
    assert resolve("https://example.org/a/", href) == expected
