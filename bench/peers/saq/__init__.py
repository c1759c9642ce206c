"""SAQ in an environment of its own."""
