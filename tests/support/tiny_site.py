"""A college of a few pages with what the ask tests need, in two versions."""

from __future__ import annotations

_PAGE = """<!doctype html><html lang="en"><head><title>{title} – Alder College</title></head>
<body><header><a href="/">Alder College</a></header>
<nav><a href="/library">Library</a> <a href="/fees">Fees</a> <a href="/people">People</a>
<a href="/departments">Departments</a></nav>
<main><h1>{title}</h1>{body}</main>
<footer>Alder College, 4 Mill Lane, Ostley.</footer></body></html>"""

_NOTICE = (
    "<h2>Fire drill</h2><p>When the bell rings, leave by the nearest stair and meet at the old oak"
    " beside the river until a warden tells you that it is safe to go back into the building, and"
    " never use the lifts on the way out.</p>"
)


def pages(version: int = 1) -> dict[str, str]:
    """Return path → HTML of version 1 or 2 (fees rise, the head of Botany changes)."""
    fee = "£9,150" if version == 1 else "£9,480"
    head = "Ines Carvalho" if version == 1 else "Tomasz Wrona"
    bodies = {
        "/": (
            "Welcome",
            "<p>Alder College teaches botany, surveying and music beside the river Oss. "
            "See our <a href='/departments'>departments</a>.</p>",
        ),
        "/library": (
            "Library",
            "<h2>Opening hours</h2><table><tr><th>Day</th><th>Opens</th><th>Closes</th></tr>"
            "<tr><td>Monday to Friday</td><td>08:15</td><td>21:45</td></tr>"
            "<tr><td>Saturday</td><td>10:00</td><td>17:30</td></tr>"
            "<tr><td>Sunday</td><td>closed</td><td>closed</td></tr></table>"
            "<h2>Borrowing</h2><p>Students may borrow twelve books for three weeks. A late book "
            "costs 20 pence a day. Renew loans at the desk or by telephone.</p>"
            "<h2>Contact</h2><p>The librarian is Marta Quill. Telephone 01632 960 441, "
            f"email library@alder.example.</p>{_NOTICE}",
        ),
        "/fees": (
            "Fees",
            "<h2>Tuition</h2><table><tr><th>Programme</th><th>Home</th><th>Overseas</th></tr>"
            f"<tr><td>BSc Botany</td><td>{fee}</td><td>£18,300</td></tr>"
            "<tr><td>BA Music</td><td>£8,900</td><td>£17,100</td></tr></table>"
            "<h2>Refunds</h2><p>A student who withdraws before 14 October gets two thirds of "
            "the tuition fee back.</p>",
        ),
        "/departments": (
            "Departments",
            "<ul><li><a href='/departments/botany'>Department of Botany</a></li>"
            "<li><a href='/departments/music'>Department of Music</a></li></ul>",
        ),
        "/departments/botany": (
            "Department of Botany",
            f"<p>The head of department is <a href='/people/head'>{head}</a>. The department "
            "keeps the moss collection and runs the alpine glasshouse.</p>"
            "<h2>Courses</h2><ul><li>BOT 101 Mosses and liverworts</li>"
            f"<li>BOT 204 Alpine plants</li><li>BOT 310 Seed banks</li></ul>{_NOTICE}",
        ),
        "/departments/music": (
            "Department of Music",
            "<p>The department teaches organ building and choral singing in Bell Hall.</p>"
            "<h2>Courses</h2><ul><li>MUS 110 Choral singing</li><li>MUS 220 Organ building</li>"
            "</ul>",
        ),
        "/people": (
            "People",
            f"<ul><li><a href='/people/head'>{head}</a>, Botany</li>"
            "<li>Marta Quill, Library</li></ul>",
        ),
        "/people/head": (
            head,
            f"<p>{head} studies mosses of cold streams.</p><dl><dt>Room</dt><dd>Glasshouse 3</dd>"
            "<dt>Telephone</dt><dd>01632 960 455</dd></dl>",
        ),
    }
    return {path: _PAGE.format(title=title, body=body) for path, (title, body) in bodies.items()}
