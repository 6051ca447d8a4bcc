"""Embedded strings, the Lance table of vectors, and the search files of a snapshot."""
