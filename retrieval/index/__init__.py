"""Search over one snapshot: vector mirror, BM25, fusion of candidates, and the public `Index`.

Belongs here: the memory-mapped mirror, lexical search, block views with provenance, `open_index`.
Must not come here: routing, modes, answers.
"""
