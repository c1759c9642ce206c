"""@task and @handler: what they accept, what they refuse and how they say it, and what they make."""

import asyncio
import copy
import enum
import functools
import importlib
import inspect
import pickle
import sys
import types
from datetime import timedelta

import pytest

import queue_app
from queue_app import Backoff, Context, handler, task
from queue_app.core.errors import InvalidArgument, InvalidName
from queue_app.decorators import InvalidTask
from queue_app.functions import TaskFunction
from queue_app.registry import DuplicateHandler, HandlerNotRun, Registry, handlers
from tests.client import samples
from tests.client.samples import add, add_later, count, count_later, send


@pytest.fixture(autouse=True)
def own_registry(monkeypatch):
    """What a test defines is known to that test alone."""
    monkeypatch.setattr(handlers, "_handlers", dict(handlers._handlers))


def made(source: str, name: str = "shop_tasks") -> types.ModuleType:
    """A module with this text."""
    module = types.ModuleType(name)
    code = compile(f"from queue_app import task, handler\n{source}", f"{name}.py", "exec")
    exec(code, module.__dict__)  # noqa: S102 - our own text
    return module


# --- the object -------------------------------------------------------------------------------------------------------


def test_calling_it_just_runs_the_function(store):
    assert add(2, b=3) == 5
    assert store.queues() == []


def test_calling_an_async_one_gives_its_coroutine():
    assert asyncio.run(add_later(2, 3)) == 5


def test_it_looks_like_the_function():
    assert (add.__name__, add.__qualname__, add.__module__) == ("add", "add", "tests.client.samples")
    assert add.__doc__.startswith("Add two numbers.")
    assert inspect.signature(add) == inspect.signature(add.func)
    assert inspect.unwrap(add) is add.func


def test_it_tells_what_it_is():
    assert (send.task_type, send.name, send.module_path) == (
        "tests.client.samples.send",
        "send",
        "tests.client.samples.send",
    )
    assert (send.queue_name, send.priority, send.takes_context) == ("mail", 7, False)
    assert (add.queue_name, add.description, count.takes_context) == ("tasks", "Add two numbers.", True)
    assert repr(add) == "<TaskFunction tests.client.samples.add>"


@pytest.mark.parametrize("name", ["options", "func", "priority", "anything"])
def test_nothing_of_it_can_be_changed(name):
    with pytest.raises(AttributeError):
        setattr(add, name, None)


def test_using_makes_a_copy(store):
    urgent = add.using(priority=100)

    assert (urgent.priority, add.priority) == (100, 0)
    assert urgent.task_type == add.task_type
    assert urgent.using(queue_name="mail").priority == 100
    assert urgent != add
    assert urgent == add.using(priority=100)
    assert hash(urgent) == hash(add.using(priority=100))


@pytest.mark.parametrize("one", [add, add.using(delay=5, tags=["x"]), add_later, send], ids=repr)
def test_it_can_be_pickled_and_copied(one):
    back = pickle.loads(pickle.dumps(one))  # noqa: S301 - our own

    assert back == one
    assert copy.deepcopy(one) == one
    assert back.func is one.func


def test_an_unchanged_one_is_itself_after_pickling():
    assert pickle.loads(pickle.dumps(add)) is add  # noqa: S301 - our own


def test_call_runs_it_whatever_it_is():
    assert (add.call(1, b=2), add_later.call(1, 2)) == (3, 3)
    assert (count.call(step=5), count_later.call(5)) == (5, 5)


async def test_acall_does_for_async_code():
    assert (await add.acall(1, b=2), await add_later.acall(1, 2)) == (3, 3)
    assert (await count.acall(5), await count_later.acall(step=5)) == (5, 5)


def test_a_context_of_ones_own_is_passed_on():
    context = Context(samples.add.prepare(1).task)

    assert count.call(context, 3) == 3


# --- what can be a task -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("source", "words"),
    [
        ("@task\nclass Sender: ...", "is for functions"),
        ("task(len)", "is for functions"),
        ("import functools\ntask(functools.partial(print))", "is for functions"),
        ("@task('send')\ndef send(): ...", r"write @task\(name='send'\)"),
        ("@task\ndef numbers():\n    yield 1", "let it return"),
        ("@task\nasync def numbers():\n    yield 1", "let it return"),
        ("class Mail:\n    @task\n    def send(self): ...", "not at the top level"),
        ("def make():\n    @task\n    def inner(): ...\nmake()", "not at the top level"),
        ("task(lambda: None)", "a lambda has no name"),
        ("@task(takes_context=True)\ndef send(): ...", "has to be named context"),
        ("@task(takes_context=True)\ndef send(ctx): ...", "has to be named context"),
        ("@handler\ndef send(payload): ...", r'@handler\("send_email"\)'),
        ("@handler('x')\ndef send(): ...", r"cannot be called with \(payload\)"),
        ("@handler('x', takes_context=True)\ndef send(payload): ...", r"with \(context, payload\)"),
        ("@handler('x')\nclass Sender: ...", "is for functions"),
        ("handler('x')(5)", "is for functions"),
    ],
    ids=lambda text: text[:30],
)
def test_what_cannot_be_one_is_told_what_to_change(source, words):
    with pytest.raises(InvalidTask, match=words):
        made(source)


def test_a_function_of_the_main_module_needs_a_name():
    with pytest.raises(InvalidTask, match="in __main__, where no worker finds it"):
        made("@task\ndef send(): ...", "__main__")

    assert made("@task(name='send')\ndef send(): ...", "__main__").send.task_type == "send"


def test_a_function_whose_name_no_type_can_carry_needs_another():
    with pytest.raises(InvalidName, match="give the task a name="):
        made("@task\ndef größe(): ...")


def test_a_wrapped_function_is_one():
    def quiet(function):
        @functools.wraps(function)
        def inner(*args, **kwargs):
            return function(*args, **kwargs)

        return inner

    def send(user_id): ...

    send.__qualname__ = "send"
    one = task(name="tests.wrapped")(quiet(send))

    with pytest.raises(TypeError, match="user_id"):
        one.prepare()


@pytest.mark.parametrize("name", ["", "a b", "x" * 201, 5], ids=lambda name: str(name)[:5])
def test_a_name_has_to_be_a_task_type(name):
    with pytest.raises(InvalidName, match="task type"):
        made(f"@task(name={name!r})\ndef send(): ...")


# --- options ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("option", "value"),
    [
        ("queue_name", "a b"),
        ("queue_name", ""),
        ("queue_name", 5),
        *(("priority", value) for value in (101, -101, 1.0, True, "high", None)),
        *(("max_attempts", value) for value in (0, -1, 1.0, True, "3", 10**7)),
        *(("backoff", value) for value in ("quadratic", -1, True, [], ["1"], float("nan"), {}, Backoff(base=-1))),
        *(("timeout", value) for value in (0, -1, True, "5", float("inf"), timedelta(0))),
        *(("hard_timeout", value) for value in (0, "5")),
        *(("keep_result", value) for value in (True, "1d", float("nan"), 10**9)),
        *(("tags", value) for value in ("mail", [1], [""], ["\ud800"], ["x" * 101], ["x"] * 21, 5)),
        *(("on_commit", value) for value in (1, "yes")),
        *(("using", value) for value in (1, "")),
    ],
)
@pytest.mark.parametrize(
    "door",
    [
        task,
        lambda **options: handler("tests.door", **options),
        add.using,
        lambda **options: queue_app.enqueue("tests.door", **options),
    ],
    ids=["task", "handler", "using", "enqueue"],
)
def test_a_value_that_cannot_be_is_refused_and_named_at_every_door(door, option, value):
    with pytest.raises((InvalidArgument, InvalidName), match=option.replace("_", "[_ ]")):
        door(**{option: value})


def test_a_whole_number_of_thousands_of_digits_is_refused_as_any_other():
    with pytest.raises(InvalidArgument, match="priority=<int>"):
        add.using(priority=10**5000)


@pytest.mark.parametrize("door", [task, lambda **options: handler("x", **options), add.using])
def test_an_unknown_option_is_named_with_the_one_that_was_meant(door):
    with pytest.raises(TypeError, match=r"no option 'max_attemps'; did you mean max_attempts\?"):
        door(max_attemps=3)


def test_the_hard_limit_comes_after_the_soft_one():
    with pytest.raises(InvalidArgument, match="hard_timeout=5 is shorter than timeout=10"):
        task(timeout=10, hard_timeout=5)
    with pytest.raises(InvalidArgument, match="is shorter than"):
        send.using(hard_timeout=5)


def test_an_idempotency_key_is_not_for_every_enqueue():
    with pytest.raises(InvalidArgument, match="is of one enqueue"):
        task(idempotency_key="x")


def test_a_callable_backoff_belongs_to_the_definition():
    one = made("@task(backoff=lambda attempt, error: attempt)\ndef send(): ...").send

    assert one.handler.backoff_callable(3, ValueError()) == 3
    assert one.prepare().task.backoff is None
    with pytest.raises(InvalidArgument, match="give it to @task"):
        one.using(backoff=lambda attempt, error: 1)


def test_options_are_stored_with_the_task():
    stored = send.using(backoff=[1, 5], delay=3, max_attempts=None).prepare(1).task

    assert (stored.queue, stored.priority, stored.tags) == ("mail", 7, ("a", "b"))
    assert (stored.max_attempts, stored.timeout, stored.hard_timeout, stored.keep_result) == (None, 30, 60, 60)
    assert stored.backoff.delays == (1.0, 5.0)


class Line(str, enum.Enum):  # noqa: UP042 - a StrEnum has its value in a key, too
    MAIL = "mail"


class Urgency(enum.IntEnum):
    HIGH = 50


def test_a_member_of_an_enum_is_stored_as_what_it_stands_for(store):
    chosen = {"queue_name": Line.MAIL, "priority": Urgency.HIGH, "tags": {Line.MAIL}, "idempotency_key": Line.MAIL}

    result = add.using(**chosen).enqueue(1)
    by_type = queue_app.enqueue(Line.MAIL, queue_name=Line.MAIL)

    stored = store.get(result.id).task
    assert (stored.queue, stored.priority, stored.tags, stored.idempotency_key) == ("mail", 50, ("mail",), "mail")
    assert {type(stored.queue), type(stored.priority), *map(type, stored.tags)} == {str, int}
    assert result.id == add.using(queue_name="mail", idempotency_key="mail").enqueue(1).id
    assert (type(result.queue), type(by_type.task_type)) == (str, str)


def test_none_goes_back_to_what_the_settings_say():
    stored = send.using(queue_name=None, backoff=None, timeout=None, hard_timeout=None, keep_result=None, tags=None)

    task_ = stored.prepare(1).task
    assert (task_.queue, task_.timeout, task_.hard_timeout, task_.keep_result, task_.tags) == (
        "tasks",
        None,
        None,
        0,
        (),
    )


def test_the_settings_decide_what_is_not_said(settings):
    settings.FORGEQUEUE = {"URL": "memory://", "DEFAULT_QUEUE": "other", "MAX_ATTEMPTS": None, "BACKOFF": 7}

    stored = add.prepare(1).task

    assert (stored.queue, stored.max_attempts, stored.backoff.base) == ("other", None, 7.0)
    assert add.queue_name == "other"


# --- the registry -----------------------------------------------------------------------------------------------------


def test_a_definition_registers_its_handler():
    found = handlers.find("tests.client.samples.count_later")

    assert (found.is_async, found.takes_context, found.is_raw, found.is_plain) == (True, True, False, False)
    assert handlers.find("tests.client.samples.add").is_plain
    assert handlers.get("nothing") is None
    assert "tests.raw" in handlers.types()


def test_a_second_function_of_a_type_is_refused_with_both_places():
    made("@task(name='tests.same')\ndef one(): ...", "first")

    with pytest.raises(DuplicateHandler, match=r"first\.one \(first\.py:2\) and second\.other \(second\.py:2\)"):
        made("@task(name='tests.same')\ndef other(): ...", "second")


def test_a_module_that_is_imported_anew_replaces_its_functions():
    before = handlers.find("tests.client.samples.add")
    copied = sys.modules["tests.client.samples"].__dict__.copy()
    try:
        importlib.reload(samples)
        assert handlers.find("tests.client.samples.add") is not before
    finally:
        sys.modules["tests.client.samples"].__dict__.update(copied)


def test_an_unknown_type_is_named():
    with pytest.raises(queue_app.ForgeQueueError, match="no handler here runs the task type 'nothing'"):
        Registry().find("nothing")


def test_a_handler_stays_the_function_it_was():
    assert samples.raw(b"abc") == 3
    assert not isinstance(samples.raw, TaskFunction)


async def test_an_object_that_is_called_can_be_a_handler():
    class Sender:
        async def __call__(self, payload):
            return payload

    handler("tests.object")(Sender())

    found = handlers.find("tests.object")
    assert found.is_async
    assert await found.call(add.prepare(1).task) == add.prepare(1).task.payload


@pytest.mark.parametrize(
    "source",
    [
        "async def send(number):\n    raise SystemExit",
        "def send(number):\n    yield",
        "async def send(number):\n    yield",
    ],
    ids=["coroutine", "generator", "async generator"],
)
@pytest.mark.parametrize("door", ["task(name='tests.hidden')", "handler('tests.hidden')"])
def test_what_a_decorator_hides_from_us_is_not_taken_for_done(source, door):
    made(f"import functools\n{source}\nplain = functools.wraps(send)(lambda *args: send(*args))\n{door}(plain)")

    with pytest.raises(
        HandlerNotRun, match=r"shop_tasks\.send \(shop_tasks\.py:\d+\) returned a .*nothing of it has run"
    ):
        handlers.find("tests.hidden").call(add.prepare(1).task)


# --- public names -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", queue_app.__all__)
def test_every_public_name_is_there_and_no_module(name):
    assert not isinstance(getattr(queue_app, name), types.ModuleType)
    assert importlib.util.find_spec(f"queue_app.{name}") is None
    assert name in dir(queue_app)


def test_a_name_that_is_not_there_is_an_attribute_error():
    with pytest.raises(AttributeError, match="has no attribute 'nothing'"):
        _ = queue_app.nothing
