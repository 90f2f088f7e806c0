"""From findings to decisions: what of each unit is edited, what blocks it, what its callers will see."""
