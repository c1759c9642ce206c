"""One run of the demo, from an empty directory to a stream of tasks, and back to nothing running.

Order: one demo a checkout (a file lock), migrations, an account, the warden, the engine, web site and worker, tasks.
It ends at a signal, after some seconds, or when something it started ended by itself. Then all is stopped, last
started first, and the data stays.
"""

import fcntl
import signal
import subprocess
import sys
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from django.core.management import CommandError, call_command

from forgequeue_site.demo import account, children, ports
from forgequeue_site.demo.children import Child
from forgequeue_site.demo.progress import StatusLine, summary
from forgequeue_site.demo.stream import Stream
from queue_app import runtime
from queue_app.brokers.redis import embedded
from queue_app.core.errors import ConfigurationError, StoreUnavailable

ASGI = "forgequeue_site.asgi:application"
TICK_SECONDS = 0.1
START_SECONDS = 60.0
"""How long the web site may take until it answers, on a slow and busy machine."""
STOP_SECONDS = 8.0
DRAIN_SECONDS = 4
"""What the worker gets of STOP_SECONDS for its running tasks: the longest sample sleeps 2 s."""
SILENCE_SECONDS = 5.0
"""How long the engine may be silent before the demo gives up."""


class Stopped(Exception):
    """Somebody asked the demo to stop."""


class Signals:
    """The first signal stops the demo; the second stops it at once."""

    def __init__(self) -> None:
        """Take over the signals that end a program."""
        self.count = 0
        for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP):
            signal.signal(number, self._note)

    def _note(self, *_: object) -> None:
        self.count += 1

    def check(self) -> None:
        """Raise Stopped once a signal came."""
        if self.count:
            raise Stopped

    def is_hurried(self) -> bool:
        """More than one came."""
        return self.count > 1


@dataclass(frozen=True, kw_only=True)
class Plan:
    """What to run. Without an `engine_dir` the engine is somebody else's; without `seconds` it runs until a signal."""

    base_dir: Path
    var_dir: Path
    engine_dir: Path | None
    rate: float
    port: int | None
    seconds: float | None


class Demo:
    """What the demo has started, and how it ends."""

    def __init__(self, plan: Plan, out: TextIO) -> None:
        """Nothing is started yet, but signals are the demo's from here on."""
        self.plan = plan
        self.signals = Signals()
        self.status = StatusLine(out)
        self.children: list[Child] = []

    def run(self) -> None:
        """Run until something ends it. Raises CommandError when that was nobody's wish."""
        with self._only_one(), ExitStack() as stack:
            try:
                self._prepare(stack)
                self._play()
            except Stopped:
                self.status.note("stopping; once more stops at once")
        self.status.note(f"everything is stopped; the data is kept in {self.plan.var_dir}")

    # --- start ----------------------------------------------------------------------------------------------------

    @contextmanager
    def _only_one(self) -> Iterator[None]:
        (self.plan.var_dir / "log").mkdir(parents=True, exist_ok=True)
        with (self.plan.var_dir / "demo.lock").open("w") as lock:
            try:
                fcntl.flock(lock, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                raise CommandError(f"a demo is already running on {self.plan.var_dir}.") from None
            yield

    def _prepare(self, stack: ExitStack) -> None:
        listener = stack.enter_context(ports.listen(self.plan.port))
        call_command("migrate", verbosity=0, interactive=False)
        # At once: should anything below fail, a password that was made has still been seen.
        self.status.note(account.describe())
        self.signals.check()
        self.warden = self._child("warden", "-m", "forgequeue_site.demo.warden", stdin=subprocess.PIPE)
        stack.callback(children.stop, [self.warden], seconds=1)
        self._start_engine(stack)
        stack.callback(self._stop_children)
        self._start("web site", "-m", "daphne", "--fd", str(listener.fileno()), ASGI, passing=[listener.fileno()])
        self._start("worker", "manage.py", "runworker", "--drain-timeout", str(DRAIN_SECONDS))
        port = listener.getsockname()[1]
        listener.close()
        self._wait_for_site(port)
        self._greet(f"http://{ports.HOST}:{port}/")

    def _start_engine(self, stack: ExitStack) -> None:
        try:
            if self.plan.engine_dir is not None:
                engine = embedded.start(self.plan.engine_dir)
                stack.callback(engine.stop)
                self._tell_warden(engine.pid)
            runtime.get_broker().now()
        except (ConfigurationError, StoreUnavailable) as error:
            raise CommandError(f"there is no engine: {error}") from error

    def _start(self, name: str, *arguments: str, passing: Sequence[int] = ()) -> None:
        child = self._child(name, *arguments, passing=passing)
        self.children.append(child)
        self._tell_warden(child.group)

    def _child(self, name: str, *arguments: str, stdin: int = subprocess.DEVNULL, passing: Sequence[int] = ()) -> Child:
        log = self.plan.var_dir / "log" / f"{name.replace(' ', '-')}.log"
        command = [sys.executable, *arguments]
        return Child(name, command, log=log, cwd=self.plan.base_dir, stdin=stdin, passing=passing)

    def _tell_warden(self, group: int | None) -> None:
        pipe = self.warden.process.stdin
        if pipe is not None and group is not None:
            pipe.write(f"{group}\n".encode())
            pipe.flush()

    def _wait_for_site(self, port: int) -> None:
        deadline = time.monotonic() + START_SECONDS
        while not ports.answers(port):
            self._check()
            if time.monotonic() > deadline:
                raise CommandError(f"the web site does not answer; {children.tail(self.children[0].log)}")
            time.sleep(TICK_SECONDS)

    def _greet(self, url: str) -> None:
        engine = self.plan.engine_dir or "as FORGEQUEUE_REDIS_ADDR says"
        self.status.note(f"ForgeQueue runs, with {self.plan.rate:g} sample tasks a second. Ctrl-C stops everything.")
        self.status.note(f"  site     {url}")
        self.status.note(f"  console  {url}admin/")
        self.status.note(f"  engine   {engine}")
        self.status.note(f"  logs     {self.plan.var_dir / 'log'}")

    # --- run ------------------------------------------------------------------------------------------------------

    def _play(self) -> None:
        stream = Stream(self.plan.rate)
        began_at = answered_at = time.monotonic()
        while self.plan.seconds is None or time.monotonic() - began_at < self.plan.seconds:
            self._check()
            try:
                stream.run_once()
                if self.status.is_due:
                    self.status.show(self._summary())
                answered_at = time.monotonic()
            except StoreUnavailable as error:
                if time.monotonic() - answered_at > SILENCE_SECONDS:
                    raise CommandError(f"the engine does not answer: {error}") from error
            time.sleep(TICK_SECONDS)

    def _check(self) -> None:
        self.signals.check()
        for child in (self.warden, *self.children):
            if child.has_ended:
                raise CommandError(child.epitaph())

    def _summary(self) -> str:
        broker = runtime.get_broker()
        return summary(broker.stats(queue) for queue in broker.queues())

    # --- end ------------------------------------------------------------------------------------------------------

    def _stop_children(self) -> None:
        children.stop(self.children, seconds=STOP_SECONDS, is_hurried=self.signals.is_hurried)
        with suppress(StoreUnavailable):
            self.status.show(self._summary())
