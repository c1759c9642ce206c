"""What is measured: drain, latency, idle, depth. One file each; all speak to the world through a Lab."""
