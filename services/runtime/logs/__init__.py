"""Several logs: where each lives, one log made of them, one order in which all of them are read.

``servers`` the PostgreSQL servers that settings name, ``place`` a log's database wherever it is at the moment,
``order`` the stretches of the reading order, ``taking`` the job that adds to it, ``spread`` the log made of logs.
What an operator does about them (add, move) is in ``adding`` and ``moving``. docs/adr/0015 says why.
"""

from services.runtime.logs.spread import SpreadLog

__all__ = ["SpreadLog"]
