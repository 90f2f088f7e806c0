"""Building modules at first call."""
