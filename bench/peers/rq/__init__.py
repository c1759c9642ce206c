"""RQ in an environment of its own."""
