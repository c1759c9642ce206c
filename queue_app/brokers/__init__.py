"""Stores that keep the promises of `base.Broker`."""
