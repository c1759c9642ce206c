"""The broker contract as tests. A broker that passes them keeps the promises of `queue_app.brokers.base`.

    class TestMyBroker(BrokerContract):
        @pytest.fixture
        def broker(self, clock, retention):
            return MyBroker(an_empty_store, clock=clock, retention=retention)

Every test ends with a walk over the whole store: each task is in one place, and lists, counts and `find` agree.
"""

from queue_app.testing.broker_contract.base import Contract
from queue_app.testing.broker_contract.bounds import BoundsContract
from queue_app.testing.broker_contract.claiming import ClaimContract, ClaimReplayContract
from queue_app.testing.broker_contract.entering import EnqueueContract
from queue_app.testing.broker_contract.holding import AbandonContract, HeartbeatContract, HeldContract
from queue_app.testing.broker_contract.idempotency import IdempotencyContract
from queue_app.testing.broker_contract.people import (
    CancelContract,
    DeleteContract,
    LookContract,
    PromoteNowContract,
    ReviveContract,
)
from queue_app.testing.broker_contract.queues import PauseContract, PurgeContract
from queue_app.testing.broker_contract.reading import ListContract, RecentContract, StatsContract, ThroughputContract
from queue_app.testing.broker_contract.settling import AckContract, FenceContract, OutcomeContract, RepeatContract
from queue_app.testing.broker_contract.timing import (
    ClockContract,
    CountedOnceContract,
    PromoteContract,
    ReclaimContract,
    SweepContract,
)
from queue_app.testing.broker_contract.waiting import WaitContract
from queue_app.testing.broker_contract.workers import WorkerContract


class BrokerContract(
    EnqueueContract,
    IdempotencyContract,
    ClaimContract,
    ClaimReplayContract,
    AckContract,
    OutcomeContract,
    FenceContract,
    RepeatContract,
    HeartbeatContract,
    HeldContract,
    AbandonContract,
    ClockContract,
    PromoteContract,
    ReclaimContract,
    SweepContract,
    CountedOnceContract,
    CancelContract,
    DeleteContract,
    ReviveContract,
    PromoteNowContract,
    LookContract,
    PauseContract,
    PurgeContract,
    ListContract,
    StatsContract,
    ThroughputContract,
    RecentContract,
    WorkerContract,
    WaitContract,
    BoundsContract,
):
    """Every promise."""


__all__ = ["BrokerContract", "Contract"]
