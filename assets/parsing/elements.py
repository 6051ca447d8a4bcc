"""What element names mean to the walk; classes of names of the HTML standard."""

from __future__ import annotations


def names(text: str) -> frozenset[str]:
    """Return the names in ``text``, parted by whitespace, as a set."""
    return frozenset(text.split())


# Elements that do not end a line of text. Everything else (unknown names too) does.
INLINE = names(
    "a abbr acronym b basefont bdi bdo big cite code data del dfn em font i img input ins kbd "
    "label span "
    "mark meter nobr output picture progress q rb rp rt rtc ruby s samp slot small source "
    "strike strong sub sup time tt u var wbr "
    "math mi mn mo ms mspace mtext mrow mfrac msqrt mroot mstyle merror mpadded mphantom msub msup "
    "msubsup munder mover munderover mmultiscripts mtable mtr mtd maction semantics annotation"
)

# Blocks that hold text or are part of a structure: they join their neighbours whatever their class.
TEXT_BLOCKS = names(
    "p li ul ol dl dt dd tr td th table thead tbody tfoot caption pre blockquote h1 h2 h3 h4 h5 h6 "
    "summary figcaption figure address legend hr hgroup details listing xmp plaintext"
)

HEADINGS = {f"h{level}": level for level in range(1, 7)}
PREFORMATTED = frozenset({"pre", "listing", "xmp", "plaintext"})
LISTS = frozenset({"ul", "ol", "menu", "dir"})

# A heading inside one of these says nothing about what follows it outside.
ISOLATING = names("aside nav footer dialog td th li dd details blockquote figure")

# Landmarks: element or role -> the reason its text is dropped for, unless a guard spares it.
LANDMARK_TAGS = {
    "nav": "navigation", "footer": "footer", "aside": "aside", "header": "header",
    "form": "form", "button": "form", "select": "form", "textarea": "form", "datalist": "form",
    "dialog": "aside", "noscript": "noscript",
    "svg": "fallback", "canvas": "fallback", "object": "fallback", "iframe": "fallback",
    "video": "fallback", "audio": "fallback", "noframes": "fallback", "noembed": "fallback",
}  # fmt: skip
LANDMARK_ROLES = {
    "navigation": "navigation", "menu": "navigation", "menubar": "navigation",
    "tablist": "navigation", "toolbar": "navigation", "banner": "header",
    "contentinfo": "footer", "complementary": "aside", "search": "form",
    "dialog": "aside", "alertdialog": "aside",
}  # fmt: skip

DROP_REASONS = (
    "override", "hidden", "consent", "navigation", "header", "footer", "aside", "form",
    "noscript", "fallback", "outside", "repeated",
)  # fmt: skip
