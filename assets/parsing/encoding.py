"""Decoding of bodies in the order of the WHATWG: BOM, header, meta prescan, sniffed fallback.

Only labels of the WHATWG encoding standard are known, so that a hostile header can never name one
of Python's byte transforms or UTF-7. Where browsers read a label as a superset (latin-1 as
windows-1252, gb2312 as gb18030), so do we.
"""

from __future__ import annotations

import codecs
import re

PRESCAN_BYTES = 1024

# Python codec: labels of https://encoding.spec.whatwg.org/#names-and-labels
_LABELS = {
    "utf-8": "utf-8 utf8 unicode-1-1-utf-8 unicode11utf8 unicode20utf8 x-unicode20utf8",
    "utf-16-le": "utf-16le utf-16 unicode ucs-2 iso-10646-ucs-2 csunicode unicodefeff",
    "utf-16-be": "utf-16be unicodefffe",
    "windows-1252": "windows-1252 cp1252 x-cp1252 latin1 l1 iso-8859-1 iso8859-1 iso_8859-1 ascii"
    " us-ascii iso-ir-100 cp819 ibm819 ansi_x3.4-1968 csisolatin1 iso88591 iso_8859-1:1987",
    "iso-8859-2": "iso-8859-2 iso8859-2 iso_8859-2 latin2 l2 iso88592 csisolatin2",
    "iso-8859-3": "iso-8859-3 iso8859-3 iso_8859-3 latin3 l3 iso88593",
    "iso-8859-4": "iso-8859-4 iso8859-4 iso_8859-4 latin4 l4 iso88594",
    "iso-8859-5": "iso-8859-5 iso8859-5 iso_8859-5 cyrillic iso88595",
    "iso-8859-6": "iso-8859-6 iso8859-6 iso_8859-6 arabic iso88596 asmo-708 ecma-114",
    "iso-8859-7": "iso-8859-7 iso8859-7 iso_8859-7 greek greek8 iso88597 ecma-118",
    "iso-8859-8": "iso-8859-8 iso8859-8 iso_8859-8 hebrew visual iso88598 iso-8859-8-i logical",
    "iso-8859-10": "iso-8859-10 iso8859-10 latin6 l6 iso885910",
    "iso-8859-13": "iso-8859-13 iso8859-13 iso885913",
    "iso-8859-14": "iso-8859-14 iso8859-14 iso885914",
    "iso-8859-15": "iso-8859-15 iso8859-15 iso_8859-15 l9 iso885915 csisolatin9",
    "iso-8859-16": "iso-8859-16",
    "koi8-r": "koi8-r koi8 koi koi8_r cskoi8r",
    "koi8-u": "koi8-u koi8-ru",
    "mac-roman": "macintosh mac x-mac-roman csmacintosh",
    "mac-cyrillic": "x-mac-cyrillic x-mac-ukrainian",
    "cp866": "ibm866 cp866 866 csibm866",
    "cp874": "windows-874 dos-874 iso-8859-11 iso8859-11 iso885911 tis-620",
    "windows-1250": "windows-1250 cp1250 x-cp1250",
    "windows-1251": "windows-1251 cp1251 x-cp1251",
    "windows-1253": "windows-1253 cp1253 x-cp1253",
    "windows-1254": "windows-1254 cp1254 x-cp1254 iso-8859-9 iso8859-9 iso_8859-9 latin5 l5"
    " iso88599 csisolatin5",
    "windows-1255": "windows-1255 cp1255 x-cp1255",
    "windows-1256": "windows-1256 cp1256 x-cp1256",
    "windows-1257": "windows-1257 cp1257 x-cp1257",
    "windows-1258": "windows-1258 cp1258 x-cp1258",
    "gb18030": "gb18030 gbk gb2312 gb_2312 gb_2312-80 x-gbk chinese csgb2312 iso-ir-58",
    "big5hkscs": "big5 big5-hkscs cn-big5 csbig5 x-x-big5",
    "euc_jp": "euc-jp x-euc-jp cseucpkdfmtjapanese",
    "iso2022_jp": "iso-2022-jp csiso2022jp",
    "cp932": "shift_jis shift-jis sjis x-sjis ms932 ms_kanji windows-31j csshiftjis",
    "cp949": "euc-kr ks_c_5601-1987 ks_c_5601-1989 ksc5601 ksc_5601 korean windows-949 cseuckr",
}
_CODECS = {label: codec for codec, labels in _LABELS.items() for label in labels.split()}
# Our own names as well: `pages.encoding` holds the codec, and a stored body is decoded by it again.
_CODECS |= {codec: codec for codec in _LABELS}

_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
_HEADER_CHARSET = re.compile(r"charset\s*=\s*[\"']?\s*([^\s;\"']+)", re.IGNORECASE)
_COMMENT = re.compile(rb"<!--.*?-->", re.DOTALL)
_META = re.compile(rb"<meta[\s/][^>]*", re.IGNORECASE)
_META_CHARSET = re.compile(rb"charset\s*=\s*[\"']?\s*([^\s;\"'/>]+)", re.IGNORECASE)
_XML_ENCODING = re.compile(rb"\A\s*<\?xml[^>]*?encoding\s*=\s*[\"']([^\"']+)", re.IGNORECASE)


def codec_of(label: str) -> str | None:
    """Return the Python codec of a WHATWG label (any case), None for an unknown label."""
    return _CODECS.get(label.strip().lower())


def decode(body: bytes, content_type: str | None) -> tuple[str, str]:
    """Return the text of ``body`` and the codec used; bad bytes become U+FFFD, never an error.

    ``content_type`` is the Content-Type header with its parameters, or None.
    """
    for bom, codec in _BOMS:
        if body.startswith(bom):
            return body[len(bom) :].decode(codec, "replace"), codec
    codec = _declared(body, content_type) or _sniffed(body)
    return body.decode(codec, "replace"), codec


def _declared(body: bytes, content_type: str | None) -> str | None:
    header = _HEADER_CHARSET.search(content_type or "")
    if header and (codec := codec_of(header[1])):
        return codec
    head = _COMMENT.sub(b"", body[:PRESCAN_BYTES])
    labels = [found[1] for meta in _META.findall(head) if (found := _META_CHARSET.search(meta))]
    labels += _XML_ENCODING.findall(head)
    for label in labels:
        if codec := codec_of(label.decode("ascii", "replace")):
            # The declaration itself was readable as ASCII, so the page cannot be UTF-16.
            return "utf-8" if codec.startswith("utf-16") else codec
    return None


def _sniffed(body: bytes) -> str:
    try:
        body.decode("utf-8")
    except UnicodeDecodeError:
        return "windows-1252"
    return "utf-8"
