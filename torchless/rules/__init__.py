"""Rules as data: loading, patterns, matching."""
