"""streaq in an environment of its own."""
