"""Campaigns: units in batches that one person can review, made, watched and made again while the tree moves on."""
