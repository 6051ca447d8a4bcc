"""From evidence to an answer: quotes, citations, abstention, and the stored trace.

Belongs here: sentence selection, claims, the calibrated threshold, traces. Must not come here:
search.
"""
