"""arq in an environment of its own."""
