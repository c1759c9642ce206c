"""The words of the queue in plain Python: no Django, no Redis, no input or output."""
