"""Bytes: source files, tokens, edits, writing."""
