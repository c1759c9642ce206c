"""Processor time is found wherever a worker spends it, and others' time is what is left."""

import os
import subprocess
import sys
import time

import pytest

from bench import sampler
from bench.sampler import Sample, between

BURN = "import time\nend = time.process_time() + {seconds}\nwhile time.process_time() < end: pass\n"


def wait_for_seconds(pid: int, seconds: float) -> None:
    """Until a process and its descendants have used so much."""
    deadline = time.monotonic() + 30
    while sampler.tree_seconds(pid) < seconds:
        assert time.monotonic() < deadline
        time.sleep(0.02)


def test_a_grandchild_counts_for_its_worker() -> None:
    nested = f"import subprocess, sys\nsubprocess.run([sys.executable, '-c', {BURN.format(seconds=30)!r}])"
    child = subprocess.Popen([sys.executable, "-c", nested], start_new_session=True)
    try:
        wait_for_seconds(child.pid, 0.3)
    finally:
        os.killpg(child.pid, 9)
        child.wait()


def test_reaped_children_count_too() -> None:
    nested = f"import subprocess, sys, time\nsubprocess.run([sys.executable, '-c', {BURN.format(seconds=0.2)!r}])\n"
    child = subprocess.Popen([sys.executable, "-c", nested + "time.sleep(60)"])
    try:
        wait_for_seconds(child.pid, 0.2)
    finally:
        child.kill()
        child.wait()


def test_a_process_that_has_gone_used_nothing() -> None:
    child = subprocess.Popen([sys.executable, "-c", ""])
    child.wait()

    assert sampler.tree_seconds(child.pid) == 0.0


def test_what_nobody_of_ours_used_is_others() -> None:
    before = Sample(at=10.0, busy=100.0, own={"engine": 5.0, "harness": 1.0})
    after = Sample(at=12.0, busy=103.0, own={"engine": 6.0, "harness": 1.2, "worker": 0.8})

    usage = between(before, after)

    assert usage.others_cores == pytest.approx(0.5)
    assert usage.cores("worker") == pytest.approx(0.4)
    assert usage.cores("nobody") == 0.0


def test_rounding_never_makes_others_negative() -> None:
    before = Sample(at=0.0, busy=10.0, own={"worker": 0.0})

    assert between(before, Sample(at=1.0, busy=10.5, own={"worker": 0.6})).others_cores == 0.0


def test_the_harness_itself_is_in_a_sample_and_the_unseen_are_not() -> None:
    sample = sampler.sample({"engine": None, "worker": os.getppid()})

    assert set(sample.own) == {"worker", "harness"}
    assert sample.busy > 0


def test_a_helper_that_came_and_went_is_not_others() -> None:
    before = sampler.sample({})
    subprocess.run([sys.executable, "-c", BURN.format(seconds=0.3)], check=True)

    assert between(before, sampler.sample({})).cpu["harness"] >= 0.25
