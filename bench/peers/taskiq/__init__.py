"""taskiq in an environment of its own."""
