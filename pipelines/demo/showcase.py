"""The questions a first demo run asks, one for each way of answering."""

from __future__ import annotations

DIRECT = "How large a deposit do students from overseas have to pay?"
"""Answered by one passage of one page."""

NAVIGATION = "How many places do the BSc Computing and the BSc Estuary Ecology each have?"
"""Answered by putting facts of two programmes' pages beside each other."""

REASONING = "Which programmes have a module led by Dr Helen Marsh?"
"""Answered by collecting one person's appearances on three pages (she has a namesake)."""

CHANGED = "Who is head of the Department of Marine and Estuary Science?"
"""Answered one way by version ``v1`` of the site and another way by ``v2``."""

SHOWCASE = {"direct": DIRECT, "navigation": NAVIGATION, "reasoning": REASONING}
