"""Workspaces that a launcher allocates and frees in every call become buffers that are kept, one a device and stream.

``find`` recognises them and says which have to stay, ``emit`` writes the cache and the calls.
"""
