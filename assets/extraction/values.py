"""What kind of value a text is: one of `VALUE_TYPES`, decided by its whole form."""

from __future__ import annotations

import polars as pl

_MONTHS = "Jan|Feb|Mar|Apr|May|Jun|Jul|Aug|Sep|Oct|Nov|Dec"
_DAYS = "Mon|Tue|Wed|Thu|Fri|Sat|Sun|Daily|Weekdays|Weekends"
# In order: the first that fits names the type. Rust's regex dialect, whole value.
_FORMS = (
    ("email", r"^[\w.+-]+@[\w-]+(?:\.[\w-]+)+$"),
    ("url", r"^(?:https?://|www\.)\S+$"),
    (
        "phone",
        r"^(?:\+?\d{1,3}[\s.-])?\(?\d{2,4}\)?[\s.-]\d{3,4}[\s.-]\d{3,4}"
        r"(?:\s?(?:ext\.?|x)\s?\d+)?$|^(?:\+\d{1,3}[ .-]?|0)\d{1,5}(?:[ .-]\d{2,4}){2,4}$",
    ),
    (
        "money",
        r"^(?:US|CA)?\s?[$€£¥]\s?\d[\d,.]*(?:\s?(?:-|–|to|/|per)\s?[$€£¥]?[\w,. ]+)?$"
        r"|^\d[\d,.]*\s?(?:dollars|euros?|pounds|EUR|USD|GBP|CHF)$",
    ),
    (
        "date",
        rf"^(?:(?:{_DAYS})\w*,?\s)?(?:(?:{_MONTHS})\w*\.?\s\d{{1,2}}(?:st|nd|rd|th)?(?:,?\s\d{{4}})?"
        rf"|\d{{1,2}}(?:st|nd|rd|th)?\s(?:{_MONTHS})\w*\.?(?:\s\d{{4}})?|(?:{_MONTHS})\w*\.?\s\d{{4}}"
        r"|\d{4}-\d{2}-\d{2}|\d{1,2}[/.]\d{1,2}[/.]\d{4})$",
    ),
    (
        "time",
        r"(?i)^(?:[a-z, –-]+ )?\d{1,2}(?:[:.]\d{2})?\s?(?:[ap]\.?m\.?)?\s?(?:-|–|—|to|until)\s?"
        r"\d{1,2}(?:[:.]\d{2})?\s?(?:[ap]\.?m\.?)?$|^\d{1,2}:\d{2}\s?(?:[ap]\.?m\.?)?$"
        r"|^\d{1,2}\s?[ap]\.?m\.?$",
    ),
    (
        "number",
        r"^[-+]?\d[\d,]*(?:\.\d+)?\s?(?:%|\p{L}+)?$|^\d[\d.]*\s?(?:-|–|to)\s?\d[\d.]*(?:\s\p{L}+)?$",
    ),
)  # fmt: skip


def value_type(value: pl.Expr) -> pl.Expr:
    """Return the expression that types the string expression ``value``.

    "9-5" is a number range unless a unit, a colon or a.m./p.m. makes it a time.
    """
    text = value.str.replace_all("\u00a0", " ").str.strip_chars()
    clock = text.str.contains(r"(?i)\d:\d\d|\d\s?[ap]\.?m\b|\d[.]\d\d\s?[-–—]")
    typed = pl.lit("text")
    for name, form in reversed(_FORMS):
        fits = text.str.contains(form)
        typed = (
            pl.when(fits & clock if name == "time" else fits).then(pl.lit(name)).otherwise(typed)
        )
    return typed
