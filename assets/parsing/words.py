"""Counting words in scripts with and without spaces."""

from __future__ import annotations

import re

# Scripts written without spaces between words whose characters count one word each: Han with its
# extensions, kana, bopomofo. Hangul is written with spaces and is left to them.
CJK = re.compile(
    "[\u2e80-\u2fdf\u3005-\u3007\u3021-\u3029\u3031-\u3035\u3041-\u3096\u309d-\u309f\u30a1-\u30fa"
    "\u30fc-\u30ff\u3105-\u312f\u31a0-\u31bf\u31f0-\u31ff\u3400-\u4dbf\u4e00-\u9fff\uf900-\ufaff"
    "\uff66-\uff9f\U0001aff0-\U0001b16f\U00020000-\U000323af]"
)


def count_words(text: str) -> int:
    """Count whitespace-separated words; each CJK character counts one and parts its neighbours."""
    if text.isascii():
        return len(text.split())
    spaced, found = CJK.subn(" ", text)
    return found + len(spaced.split())
