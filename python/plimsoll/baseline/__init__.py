"""Gradient-boosted trees on columns of history, as a baseline for models of linked tables."""
