"""The audit of the whole log: the tree against what was signed, then every stream and every finished match."""

from services.cli.auditing.findings import LogFinding, Report, Tally
from services.cli.auditing.log_audit import audit_log, audit_match

__all__ = ["LogFinding", "Report", "Tally", "audit_log", "audit_match"]
