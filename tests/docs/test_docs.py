"""The documents agree with each other and with the code."""

import re
from pathlib import Path

import pytest

from queue_app.brokers.redis import scripts
from queue_app.brokers.redis.keys import STRUCTURES
from queue_app.core.task import Task

ROOT = Path(__file__).parents[2]
DOCUMENTS = sorted([*ROOT.glob("*.md"), *ROOT.glob("docs/**/*.md")])
LINK = re.compile(r"\[[^\]]+\]\(([^)\s]+)\)")
HEADING = re.compile(r"^#+ (.+)$", re.MULTILINE)


def read(path: str) -> str:
    return (ROOT / path).read_text(encoding="utf-8")


def anchors(document: Path) -> set[str]:
    headings = HEADING.findall(document.read_text(encoding="utf-8"))
    return {re.sub(r"[^\w -]", "", heading.lower()).replace(" ", "-") for heading in headings}


@pytest.mark.parametrize("document", DOCUMENTS, ids=lambda path: str(path.relative_to(ROOT)))
class TestEveryDocument:
    def test_links_lead_somewhere(self, document):
        for link in LINK.findall(document.read_text(encoding="utf-8")):
            path, _, anchor = link.partition("#")
            if "://" in path or path.startswith("mailto:"):
                continue
            target = (document.parent / path).resolve() if path else document
            assert target.exists(), f"{link} leads nowhere"
            if anchor:
                assert anchor in anchors(target), f"{link} leads to no heading"

    def test_python_samples_compile(self, document):
        text = document.read_text(encoding="utf-8")
        for sample in re.findall(r"```python\n(.*?)```", text, re.DOTALL):
            compile(sample, str(document), "exec")

    def test_says_nothing_of_the_machine_it_was_written_on(self, document):
        text = document.read_text(encoding="utf-8")

        assert not re.search(r"(?:^|[\s`(])/(?:root|work|home)/", text)


def test_every_document_can_be_reached_from_the_readme():
    reached, waiting = set(), [ROOT / "README.md"]
    while waiting:
        document = waiting.pop()
        if document in reached or document.suffix != ".md":
            continue
        reached.add(document)
        for link in LINK.findall(document.read_text(encoding="utf-8")):
            target = (document.parent / link.partition("#")[0]).resolve()
            if target.is_file():
                waiting.append(target)

    assert {path for path in DOCUMENTS if "docs" in path.parts} <= reached


def test_every_structure_of_a_queue_is_in_the_table_of_keys():
    text = read("docs/redis.md")
    named = set(re.findall(r"`(?:queue:<name>)?:([a-z_:]+)`", text))
    covered_by_pattern = {structure for structure in STRUCTURES if structure.endswith(":until")} | {"purges:count"}

    assert set(STRUCTURES) - named - covered_by_pattern == set()


def test_every_script_is_in_the_table_of_scripts():
    table = read("docs/redis.md").split("## Scripts")[1]

    assert set(scripts.names()) <= set(re.findall(r"`(\w+)`", table))


def test_every_field_of_a_body_is_described():
    text = read("docs/redis.md").split("## The body")[1].split("## Beside Go")[0]

    assert {field for field in Task.__struct_fields__ if f'"{field}"' not in text and f"`{field}`" not in text} == set()
