"""The errors a person sees: each names the thing, says the remedy and carries an exit code."""

from __future__ import annotations


class SitequestError(Exception):
    """A failure with a one-paragraph message, a remedy and a process exit code.

    Exit codes: 1 failed, 2 bad input or configuration, 3 candidate held, 4 nothing to answer from
    (no snapshot), 5 busy (another writer).
    """

    exit_code = 1

    def __init__(self, message: str, remedy: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.remedy = remedy

    def __str__(self) -> str:
        return f"{self.message} {self.remedy}".strip()


class BadInputError(SitequestError):
    """The caller's input or configuration is wrong."""

    exit_code = 2


class HeldError(SitequestError):
    """A candidate was built and is kept back by a check."""

    exit_code = 3


class NoSnapshotError(SitequestError):
    """There is no snapshot that fits the reference."""

    exit_code = 4


class BusyError(SitequestError):
    """Another writer is at work on this site."""

    exit_code = 5
