"""The stand-alone site: our own host of queue_app, and an example for others. Imported by nobody."""
