"""Dramatiq in an environment of its own."""
