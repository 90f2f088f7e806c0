"""What the exit code of a run says; never a count."""

from __future__ import annotations

NOTHING_LEFT = 0
SOMETHING_LEFT = 1  # findings, changes pending, or units left behind
FAILED = 2  # usage error, internal error, interrupt, or a file that failed
BACKED_OUT = 3  # verification failed, and what it failed on was backed out
