"""BaQueue in an environment of its own."""
