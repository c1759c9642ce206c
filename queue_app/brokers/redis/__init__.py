"""The engine: a broker on Redis or Valkey. Nothing else in the application imports redis."""

from queue_app.brokers.redis.broker import RedisBroker
from queue_app.brokers.redis.connection import Connection, connect

__all__ = ["Connection", "RedisBroker", "connect"]
