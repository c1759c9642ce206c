"""For tests, ours and our users': nothing that ships imports it."""
