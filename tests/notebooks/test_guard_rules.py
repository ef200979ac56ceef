"""Each rule of the guard, on the sample lesson broken in this one respect."""

from __future__ import annotations

import copy
from pathlib import PurePosixPath

import pytest

from lane import guard, problems, reading, rules_form
from lane.breakages_claims import CLAIMS
from lane.breakages_form import FORM
from lane.breakages_parts import PARTS
from lane.breakages_words import BUDGET, PROSE
from lane.breaking import replaced, said
from lane.places import SAMPLE

BREAKAGES = [*FORM, *PARTS, *BUDGET, *PROSE, *CLAIMS]


@pytest.fixture(scope="module")
def sample() -> reading.Lesson:
    return reading.load(SAMPLE)


def complaints(lesson: reading.Lesson) -> dict[str, list[str]]:
    """Rule -> what it says, for the rules that complain."""
    said_by = {rule.__name__: problems.sentences(lesson, rule) for rule in guard.RULES}
    return {name: lines for name, lines in said_by.items() if lines}


def test_the_sample_breaks_no_rule(sample):
    assert complaints(sample) == {}


@pytest.mark.parametrize("breakage", BREAKAGES, ids=lambda b: f"{b.rule}: {b.says}")
def test_a_broken_lesson_is_caught_by_its_rule_alone(sample, breakage):
    notebook = copy.deepcopy(sample.notebook)
    breakage.apply(notebook)
    found = complaints(reading.from_notebook(notebook, SAMPLE))
    assert any(breakage.says in line for line in found.get(breakage.rule, [])), found
    if "*" not in breakage.also:
        assert set(found) <= {breakage.rule, *breakage.also}, found


def test_every_rule_has_a_breakage():
    assert {b.rule for b in BREAKAGES} == {rule.__name__ for rule in guard.RULES}


def test_a_complaint_names_file_cell_what_and_what_to_do(sample):
    notebook = copy.deepcopy(sample.notebook)
    replaced("Shut this", "Simply shut this")(notebook)
    found = complaints(reading.from_notebook(notebook, SAMPLE))
    assert found == {
        "banned_words": [
            "90_sample.ipynb, cell 27 (Simply shut this kernel down: it holds a list.): "
            "says 'simply'. Say it without."
        ]
    }


@pytest.mark.parametrize("text", ["by annalee", "on annas-laptop", "in /Volumes/disk/anna/x"])
def test_the_name_of_a_person_a_machine_or_a_home_is_found(sample, monkeypatch, text):
    monkeypatch.setattr("getpass.getuser", lambda: "annalee")
    monkeypatch.setattr("socket.gethostname", lambda: "annas-laptop")
    monkeypatch.setattr("pathlib.Path.home", lambda: PurePosixPath("/Volumes/disk/anna"))
    notebook = copy.deepcopy(sample.notebook)
    said("1000 numbers", text)(notebook)
    page = reading.from_notebook(notebook, SAMPLE)
    assert "one machine" in problems.sentences(page, rules_form.local_paths)[0]


def test_a_user_name_that_is_a_common_word_is_no_find(sample, monkeypatch):
    monkeypatch.setattr("getpass.getuser", lambda: "student")
    notebook = copy.deepcopy(sample.notebook)
    said("1000 numbers", "each student")(notebook)
    page = reading.from_notebook(notebook, SAMPLE)
    assert problems.sentences(page, rules_form.local_paths) == []
