"""The ops: one file per module."""
