"""Verification rung 4: what launchers launch, before and after, on a fake HIP runtime. See unit.py."""
