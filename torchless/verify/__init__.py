"""Proof that the edited code is as good as the old: types, closures."""
