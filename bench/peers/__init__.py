"""Everybody who takes part."""
