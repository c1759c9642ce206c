"""How many tasks a slot asks for."""

from queue_app.worker.batching import AdaptiveBatch, FixedBatch, batch_size
from queue_app.worker.options import BATCH_SECONDS, LARGEST_BATCH


def run_batches(size: AdaptiveBatch, seconds_each: float, batches: int = 10) -> int:
    for _ in range(batches):
        want = size.want()
        size.ran(want, want * seconds_each, asked=want)
    return size.want()


def test_a_new_slot_begins_with_one_and_grows_quickly() -> None:
    size = AdaptiveBatch()
    wants = []
    for _ in range(5):
        wants.append(size.want())
        size.ran(size.want(), size.want() * 1e-5, asked=size.want())

    assert wants == [1, 4, 16, 64, 64]


def test_a_slow_handler_is_claimed_one_at_a_time() -> None:
    assert run_batches(AdaptiveBatch(), 1.0) == 1


def test_a_batch_holds_at_most_a_tenth_of_a_second_of_work() -> None:
    assert run_batches(AdaptiveBatch(), 0.01) == int(BATCH_SECONDS / 0.01)


def test_one_slow_task_shrinks_the_next_batch_at_once() -> None:
    size = AdaptiveBatch()
    assert run_batches(size, 1e-5) == LARGEST_BATCH

    size.ran(64, 64 * 1.0, asked=64)

    assert size.want() == 1


def test_after_a_slow_spell_it_grows_again() -> None:
    size = AdaptiveBatch()
    run_batches(size, 1.0)

    assert run_batches(size, 1e-5, batches=30) == LARGEST_BATCH


def test_a_batch_that_was_cut_short_does_not_make_the_next_one_larger() -> None:
    size = AdaptiveBatch()
    size.ran(1, 1e-5, asked=1)

    size.ran(2, 2e-5, asked=4)

    assert size.want() == 4


def test_a_batch_of_which_nothing_ran_teaches_nothing() -> None:
    size = AdaptiveBatch()

    size.ran(0, 0.0, asked=1)

    assert size.want() == 1


def test_a_fixed_size_stays() -> None:
    size = batch_size(16)
    size.ran(16, 16.0, asked=16)

    assert isinstance(size, FixedBatch)
    assert size.want() == 16
