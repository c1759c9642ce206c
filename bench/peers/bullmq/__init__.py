"""BullMQ on Node: one worker process at a given concurrency."""
