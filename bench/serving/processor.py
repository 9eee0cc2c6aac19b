"""Time of the processor: what a measurement costs, also where the clock says little because others are at work."""

from __future__ import annotations

import psutil


def processor_seconds(pid: int | None, *, children: bool = False) -> float:
    """Return what a process, and where wanted its children, have used of the processor until now; 0 for None."""
    if pid is None:
        return 0.0
    process = psutil.Process(pid)
    used = _own(process)
    if children:
        used += sum(_own(child) for child in process.children(recursive=True))
    return used


def _own(process: psutil.Process) -> float:
    try:
        times = process.cpu_times()
    except psutil.NoSuchProcess:
        return 0.0
    return times.user + times.system
