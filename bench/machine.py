"""Where a measurement was taken."""

from __future__ import annotations

import os
import platform
from importlib.metadata import version
from pathlib import Path


def machine(*packages: str) -> str:
    """Return one line: processors, memory, system, Python, and the versions of these packages."""
    memory_gb = os.sysconf("SC_PAGE_SIZE") * os.sysconf("SC_PHYS_PAGES") / 1e9
    parts = [
        f"{os.cpu_count()} x {_processor()}",
        f"{memory_gb:.0f} GB",
        f"{platform.system()} {platform.release().partition('-')[0]}",
        f"Python {platform.python_version()}",
        *(f"{package} {version(package)}" for package in packages),
    ]
    return ", ".join(parts)


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text("utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
