"""Printers, one per file."""
