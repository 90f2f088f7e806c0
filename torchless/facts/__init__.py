"""What the analysis knows about the code, keyed by file and byte offset."""
