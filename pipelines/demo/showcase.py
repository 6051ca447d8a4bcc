"""The questions a first demo run asks, one for each way of answering."""

from __future__ import annotations

DIRECT = "What does a resident of the town pay to become a library member?"
"""Answered by one passage of one page."""

NAVIGATION = "In which room is the office of the department that runs the BA Maritime History?"
"""Answered by going from the programme's page to its department's page."""

REASONING = "Which programmes have a module led by Dr Helen Marsh?"
"""Answered by collecting one person's appearances on three pages (she has a namesake)."""

CHANGED = "Who is head of the Department of Marine and Estuary Science?"
"""Answered one way by version ``v1`` of the site and another way by ``v2``."""

SHOWCASE = {"direct": DIRECT, "navigation": NAVIGATION, "reasoning": REASONING}
