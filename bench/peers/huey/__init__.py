"""Huey in an environment of its own."""
