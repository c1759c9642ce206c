"""The Lua files as a program: headers hold what bodies do, includes are found, keys are named where they belong."""

import re

import pytest

from queue_app.brokers.redis import scripts
from queue_app.brokers.redis.keys import STRUCTURES
from queue_app.core.errors import ConfigurationError

NAMES = scripts.names()
HEADER_LINE = re.compile(r"^--\s+(.*)$")


def text_of(name: str) -> str:
    return scripts._read(f"{name}.lua")


def header_of(name: str) -> str:
    lines = []
    for line in text_of(name).splitlines():
        if not line.startswith("--"):
            break
        lines.append(line[2:])
    return "\n".join(lines)


def section(name: str, title: str) -> str:
    found = re.search(rf"^ {title}\n(.*?)(?=^ [A-Z]{{4,}}$|^ include:|\Z)", header_of(name), re.DOTALL | re.MULTILINE)
    assert found, f"{name}.lua has no {title} in its header"
    return found[1]


def numbered(part: str) -> dict[int, str]:
    return {int(number): word for number, word in re.findall(r"(?:^|, |\s)(\d+) ([a-z_]+)", part)}


def used(name: str, array: str) -> dict[int, str]:
    """Number → the local name that `array[number]` is given, in the whole script."""
    source = scripts.load(name).source
    uses = re.findall(rf"{array}\[(\d+)\]", source)
    assert len(uses) == len(set(uses)), f"{name}.lua reads a {array}[n] twice: give it a name once"
    named = re.findall(rf"^\s*local (\w+)\s*= (?:tonumber\()?{array}\[(\d+)\]\)?$", source, re.MULTILINE)
    return {int(number): local for local, number in named}


def test_there_is_a_script_for_every_verb():
    assert {"enqueue", "exchange", "heartbeat", "promote", "reclaim", "abandon", "cancel", "revive", "sweep"} <= {
        *NAMES
    }


@pytest.mark.parametrize("name", NAMES)
class TestEveryScript:
    def test_begins_with_its_name_and_a_sentence(self, name):
        first = text_of(name).splitlines()[0]

        assert re.fullmatch(rf"-- {name}: [a-z].*", first)

    def test_has_every_section_of_a_header(self, name):
        for title in ("KEYS", "ARGV", "RETURNS"):
            assert section(name, title).strip()

    def test_names_the_keys_of_its_header_and_no_others(self, name):
        documented = numbered(section(name, "KEYS"))
        # KEYS[2] is passed to every script of a queue; only those that ask for it name it.
        optional = {} if name == "announce" else {2: "paused_all"}

        assert used(name, "KEYS") | optional == documented

    def test_names_the_arguments_of_its_header_and_no_others(self, name):
        documented = numbered(section(name, "ARGV"))
        in_body = used(name, "ARGV")
        aliases = {"given_now": "now"}

        assert {number: aliases.get(local, local) for number, local in in_body.items()} == documented

    def test_uses_every_step_that_it_includes(self, name):
        text = text_of(name)
        source = scripts.load(name).source
        for step in re.findall(r"^-- include: (\w+)", text, re.MULTILINE):
            defined = re.findall(r"^local (?:function )?(\w+)", scripts._read(f"lib/{step}.lua"), re.MULTILINE)
            outside = source.replace(scripts._read(f"lib/{step}.lua"), "")
            assert any(re.search(rf"\b{word}\b", outside) for word in defined), f"{name}.lua does not need {step}"

    def test_never_decodes_or_encodes_a_body(self, name):
        assert "cjson" not in scripts.load(name).source

    def test_never_walks_the_key_space(self, name):
        assert not re.search(r"'(KEYS|SCAN|FLUSHDB|FLUSHALL)'", scripts.load(name).source)

    def test_uses_only_structures_that_are_declared(self, name):
        structures = set(re.findall(r"queue \.\. ':([\w:]+)'", scripts.load(name).source))

        assert structures - {"purge:"} <= set(STRUCTURES)


def test_a_missing_script_is_named():
    with pytest.raises(ConfigurationError, match=r"lua/nonesuch.lua is missing"):
        scripts.load("nonesuch")


def test_a_missing_step_is_named(monkeypatch):
    monkeypatch.setattr(scripts, "_read", lambda path: read_or_fail(path, {"a.lua": "-- include: nonesuch\n"}))

    with pytest.raises(ConfigurationError, match=r"lib/nonesuch.lua is missing"):
        scripts.load.__wrapped__("a")


def test_a_step_that_includes_another_is_refused(monkeypatch):
    texts = {"a.lua": "-- include: b\n", "lib/b.lua": "-- include: c\n"}
    monkeypatch.setattr(scripts, "_read", lambda path: read_or_fail(path, texts))

    with pytest.raises(ConfigurationError, match=r"lib/b.lua includes another step"):
        scripts.load.__wrapped__("a")


def read_or_fail(path: str, texts: dict[str, str]) -> str:
    if path not in texts:
        raise ConfigurationError(f"lua/{path} is missing from the package")
    return texts[path]
