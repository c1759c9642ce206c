"""One rule for each kind of name; ids that sort, and ids that follow from a key."""

import time
import uuid

import pytest

from queue_app.core import ids, names
from queue_app.core.errors import InvalidName
from queue_app.core.showing import safe_url, shown


class TestNames:
    @pytest.mark.parametrize("name", ["tasks", "a", "A.b-c_9", "x" * 100])
    def test_a_queue_may_be_called_that(self, name):
        assert names.valid_queue(name) == name

    @pytest.mark.parametrize(
        "name",
        [
            "",
            "x" * 101,
            "a b",
            "a:b",
            "é",
            "a\n",
            "a\0",
            "{a}",
            "*",
            "a/b",
            None,
            3,
            pytest.param(10**5000, id="huge"),
            b"a",
        ],
    )
    def test_a_queue_may_not(self, name):
        with pytest.raises(InvalidName, match="queue name"):
            names.valid_queue(name)

    def test_a_task_type_may_have_colons_and_a_local_part(self):
        assert names.valid_task_type("shop.tasks:send.<locals>") == "shop.tasks:send.<locals>"

    @pytest.mark.parametrize(
        "rule", [names.valid_queue, names.valid_task_type, names.valid_task_id, names.valid_idempotency_key]
    )
    def test_a_name_with_two_texts_is_the_one_that_was_checked(self, rule):
        class Name(str):
            def __str__(self):
                return "another"

        assert f"{rule(Name('mail'))}" == "mail"

    @pytest.mark.parametrize("key", ["", "x" * 201, None, 5])
    def test_an_idempotency_key_is_text_of_some_length(self, key):
        with pytest.raises(InvalidName, match="idempotency key"):
            names.valid_idempotency_key(key)


class TestIds:
    def test_are_version_7_of_now(self):
        before = time.time_ns() // 1_000_000
        made = uuid.UUID(ids.new_id())

        assert (made.version, made.variant) == (7, uuid.RFC_4122)
        assert before <= made.int >> 80 <= time.time_ns() // 1_000_000

    def test_sort_by_the_millisecond_they_were_made_in(self):
        first = ids.new_id()
        time.sleep(0.002)

        assert first < ids.new_id()

    def test_are_valid_names(self):
        assert names.valid_task_id(ids.new_id())
        assert names.valid_task_id(ids.keyed_id("tasks", "any ‡ key\0"))

    def test_of_a_key_are_the_same_for_everybody_and_differ_by_queue_key_and_generation(self):
        keyed = ids.keyed_id("mail", "k")

        assert keyed == ids.keyed_id("mail", "k", 0)
        assert len({keyed, ids.keyed_id("post", "k"), ids.keyed_id("mail", "l"), ids.keyed_id("mail", "k", 1)}) == 4

    def test_tokens_never_repeat(self):
        assert len({ids.new_token() for _ in range(1_000)}) == 1_000


class TestShowing:
    def test_a_long_value_is_cut(self):
        assert shown("x" * 500, 10) == "'xxxxxxxx…"

    def test_a_value_that_cannot_be_shown_is_named_by_its_type(self):
        assert shown(10**5000) == "<int>"

    @pytest.mark.parametrize(
        ("url", "safe"),
        [
            ("redis://user:secret@host:6379/3?password=secret", "redis://host:6379/3"),
            ("unix:///run/redis.sock?password=secret", "unix:///run/redis.sock"),
            ("redis://host:6379/secret@x", "redis://host:6379"),
            ("redis://:secret@[::1", "<unreadable URL>"),
            ("redis://host:secret", "<unreadable URL>"),
        ],
    )
    def test_a_url_is_shown_without_what_may_be_secret(self, url, safe):
        assert safe_url(url) == safe
