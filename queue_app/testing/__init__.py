"""For tests, ours and our users': nothing that ships imports it."""

from queue_app.testing.clock import FakeClock
from queue_app.testing.enqueued import Enqueued, assert_enqueued, capture_enqueued, override_broker, run_enqueued

__all__ = ["Enqueued", "FakeClock", "assert_enqueued", "capture_enqueued", "override_broker", "run_enqueued"]
