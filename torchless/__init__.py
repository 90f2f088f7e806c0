"""torchless: takes heavy framework headers out of GPU launchers, automatically and provably safely."""

__version__ = "0.1.0"
