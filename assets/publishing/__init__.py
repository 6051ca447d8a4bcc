"""Candidates and their publication: staging, hard links, fsync, the atomic LATEST, the lock.

Nothing else writes below snapshots/ or moves LATEST.
"""
