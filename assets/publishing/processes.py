"""Is the process that left this note still the same one, and alive?"""

from __future__ import annotations

import os
from pathlib import Path

from pydantic import BaseModel, ConfigDict

_BOOT_ID = Path("/proc/sys/kernel/random/boot_id")


class ProcessMark(BaseModel):
    """A process, told apart from a later one with the same pid.

    ``started`` is the kernel's start time in clock ticks since boot, ``boot`` the boot's id; both
    are null where /proc is not to be had, and then the pid alone decides.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    pid: int
    started: int | None
    boot: str | None

    @classmethod
    def of(cls, pid: int | None = None) -> ProcessMark:
        """Mark process ``pid``, this one by default."""
        pid = os.getpid() if pid is None else pid
        return cls(pid=pid, started=_started(pid), boot=_boot())

    def alive(self) -> bool:
        """Return whether the marked process runs now (a zombie does not)."""
        if self.boot != _boot():
            return False
        if self.started is not None:
            return _started(self.pid) == self.started
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


def _boot() -> str | None:
    try:
        return _BOOT_ID.read_text().strip()
    except OSError:
        return None


def _started(pid: int) -> int | None:
    """Return the start time of a running process from /proc/<pid>/stat (see proc(5))."""
    try:
        stat = Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return None
    # The command name may hold spaces and parentheses: fields are counted after the last ")".
    fields = stat.rpartition(")")[2].split()
    state, started = fields[0], fields[19]
    return None if state in "ZX" else int(started)
