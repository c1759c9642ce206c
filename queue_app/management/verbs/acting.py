"""Acting on tasks: by id, or on all that are in some state when it begins.

What is there at the beginning is counted, and no more than that is acted on: tasks that come in meanwhile do not keep
it going. It is done page by page, each task in one step of the store, so an interruption leaves nothing half done.
"""

from argparse import ArgumentParser
from collections.abc import Iterator, Sequence

from django.core.management.base import CommandError

from queue_app.brokers.base import Broker
from queue_app.core.answers import Asked
from queue_app.core.errors import ForgeQueueError, TaskGone, WrongState
from queue_app.core.states import State
from queue_app.management.verbs.base import Options, Out, Verb, chosen_queues, takes_json, takes_yes, words_of
from queue_app.management.verbs.progress import Progress
from queue_app.management.verbs.showing import as_json, confirmed, counted, harmless

PAGE = 500
INTERRUPTED = 130
"""As a shell has it for Ctrl-C."""


class Tally:
    """What became of those that were acted on."""

    def __init__(self) -> None:
        self.done = 0
        self.requested = 0
        self.refused: dict[str, str] = {}

    def note(self, task_id: str, answer: Asked | ForgeQueueError | None) -> None:
        """One of them."""
        if isinstance(answer, ForgeQueueError):
            self.refused[task_id] = str(answer)
        elif answer is Asked.REQUESTED:
            self.requested += 1
        else:
            self.done += 1


class Act(Verb):
    """One change, made to tasks that are named, or to all in `states`."""

    states: tuple[State, ...] = ()
    """Those of `--all`, unless a person chooses among them; without any there is no `--all`."""
    done = ""
    """What a task is afterwards."""
    doing = ""
    requested = "runs; its worker is told within a heartbeat"
    destroys = False
    """Whether a person is asked first."""
    is_far_reaching = False
    """The same for all of some states alone."""
    chooses_states = False

    def act(self, broker: Broker, task_id: str) -> Asked | None:
        """Make the change. Raises TaskGone, or WrongState."""
        raise NotImplementedError

    def add_arguments(self, parser: ArgumentParser) -> None:
        parser.add_argument("ids", nargs="*", metavar="id", help="tasks by id")
        if self.states:
            parser.add_argument("--all", action="store_true", help=f"all that are {' or '.join(self.states)} now")
            parser.add_argument("--queue", help="with --all: of this queue only")
            if self.chooses_states:
                parser.add_argument("--state", help="with --all: of these states only, with commas between them")
        if self.destroys or self.is_far_reaching:
            takes_yes(parser)
        takes_json(parser)

    def run(self, broker: Broker, options: Options, out: Out) -> None:
        ids = options["ids"]
        if bool(ids) == bool(options.get("all")):
            raise CommandError("give ids, or --all" if self.states else "give ids", returncode=2)
        if ids and (options.get("queue") or options.get("state")):
            raise CommandError("--queue and --state go with --all: an id says its queue itself", returncode=2)
        if ids:
            self._act_on(broker, ids, options, out)
        else:
            self._act_on_all(broker, options, out)

    # --- by id --------------------------------------------------------------------------------------------------------

    def _act_on(self, broker: Broker, ids: Sequence[str], options: Options, out: Out) -> None:
        if self.destroys and not confirmed(f"{self._imperative} {counted(len(ids), 'task')}?", is_sure=options["yes"]):
            raise CommandError("nothing was done", returncode=1)
        tally = Tally()
        answers = []
        for task_id in ids:
            answer = self._try(broker, task_id)
            tally.note(task_id, answer)
            answers.append((task_id, answer))
        if options["json"]:
            tasks = [self._facts(task_id, answer) for task_id, answer in answers]
            out.write(as_json({**_numbers(tally), "matched": len(ids), "tasks": tasks}))
        else:
            for task_id, answer in answers:
                out.write(f"{harmless(task_id)}: {self._word(answer)}")
        _end(tally, len(ids))

    def _try(self, broker: Broker, task_id: str) -> Asked | ForgeQueueError | None:
        try:
            return self.act(broker, task_id)
        except (TaskGone, WrongState) as error:
            return error

    def _word(self, answer: Asked | ForgeQueueError | None) -> str:
        if isinstance(answer, ForgeQueueError):
            return harmless(str(answer))
        return self.requested if answer is Asked.REQUESTED else self.done

    def _facts(self, task_id: str, answer: Asked | ForgeQueueError | None) -> dict[str, str]:
        if isinstance(answer, ForgeQueueError):
            return {"id": task_id, "outcome": "refused", "error": str(answer)}
        return {"id": task_id, "outcome": "requested" if answer is Asked.REQUESTED else self.done}

    # --- on all of some states ----------------------------------------------------------------------------------------

    def _act_on_all(self, broker: Broker, options: Options, out: Out) -> None:
        queues = chosen_queues(broker, options["queue"])
        states = self._states(options)
        counts = {(queue, state): broker.stats(queue).counts[state] for queue in queues for state in states}
        total = sum(counts.values())
        question = f"{self._imperative} {counted(total, 'task')} ({_which(states)}) of {', '.join(queues)}?"
        asks = self.destroys or self.is_far_reaching
        if asks and total and not confirmed(question, is_sure=options["yes"]):
            raise CommandError("nothing was done", returncode=1)
        tally = Tally()
        with Progress(total, self.doing) as progress:
            try:
                for (queue, state), count in counts.items():
                    for task_id in every_id(broker, queue, state, count):
                        tally.note(task_id, self._try(broker, task_id))
                        progress.step()
            except KeyboardInterrupt:
                said = (
                    f"interrupted: {counted(tally.done, 'task')} of {total:,} {self.done}, the others are as they were"
                )
                raise CommandError(said, returncode=INTERRUPTED) from None
        if options["json"]:
            out.write(as_json({**_numbers(tally), "matched": total}))
        else:
            out.write(self._summary(tally, total, states))
        _end(tally, total)

    def _states(self, options: Options) -> tuple[State, ...]:
        words = options.get("state")
        return states_of(words, self.states) if words else self.states

    def _summary(self, tally: Tally, total: int, states: Sequence[State]) -> str:
        if not total:
            return f"no {' or '.join(states)} tasks"
        told = f"{counted(tally.done, 'task')} {self.done}"
        return f"{told}; {tally.requested:,} run and will hear of it" if tally.requested else told

    @property
    def _imperative(self) -> str:
        return self.name.capitalize()


def every_id(broker: Broker, queue: str, state: State, count: int) -> Iterator[str]:
    """Up to `count` ids of a state, each once, while whoever gets them may take them out of it."""
    kept: set[str] = set()
    cursor: str | None = None
    while count > 0:
        page = broker.list_tasks(queue, state, cursor=cursor, limit=PAGE)
        fresh = [snapshot.id for snapshot in page.snapshots if snapshot.id not in kept]
        yield from fresh[:count]
        count -= len(fresh)
        # Those that are still there at the next look move the cursor on; those that have gone leave their places.
        kept = {snapshot.id for snapshot in page.snapshots}
        if not fresh:
            cursor = page.cursor
            if cursor is None:
                return


def states_of(text: str, among: Sequence[State]) -> tuple[State, ...]:
    """States from words with commas between them; CommandError for one that is none of `among`."""
    words = list(words_of(text))
    wrong = [word for word in words if word not in set(among)]
    if wrong or not words:
        known = ", ".join(among)
        raise CommandError(f"--state takes {known}, not {', '.join(map(repr, wrong)) or 'nothing'}", returncode=2)
    return tuple(state for state in among if state in words)


def _which(states: Sequence[State]) -> str:
    return "in any state" if len(states) == len(State) else " or ".join(states)


def _numbers(tally: Tally) -> dict[str, int]:
    return {"done": tally.done, "requested": tally.requested, "refused": len(tally.refused)}


def _end(tally: Tally, total: int) -> None:
    if tally.refused:
        raise CommandError(f"{len(tally.refused):,} of {total:,} refused", returncode=1)
