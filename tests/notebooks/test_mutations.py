"""Every mutation that a lesson names must turn its verdict: pytest -m mutation (minutes)."""

from __future__ import annotations

from functools import cache

import pytest

from lane import mutations, reading
from lane.mutations import Mutation
from lane.nbval_run import add_notebook, make_repository, run_lane
from lane.places import REPOSITORY, lessons

TRAINING = "gpuutil_helpers/project/training.py"
LESSON_01 = REPOSITORY / "notebooks" / "01_training_loop.ipynb"
pytestmark = pytest.mark.mutation


@cache
def all_mutations() -> list[Mutation]:
    return [m for path in lessons() for m in mutations.of_lesson(reading.load(path))]


@pytest.mark.parametrize("mutation", all_mutations(), ids=lambda m: m.name)
def test_a_mutation_turns_its_verdict(mutation: Mutation, tmp_path):
    assert mutations.shortcomings(mutation, mutations.run(mutation, tmp_path)) == []


def test_a_training_step_without_zero_grad_turns_lesson_01_red(tmp_path):
    repository = make_repository(tmp_path, copies=("gpuutil_helpers", "data"))
    training = repository / TRAINING
    source = training.read_text(encoding="utf-8")
    lines = source.splitlines(keepends=True)
    broken = [line for line in lines if "optimizer.zero_grad(" in line]
    assert broken, f"{TRAINING} has no line with optimizer.zero_grad("
    for line in broken:
        indent = line[: len(line) - len(line.lstrip())]
        source = source.replace(line, f"{indent}pass\n")
    training.write_text(source, encoding="utf-8")
    add_notebook(repository, LESSON_01.name, reading.load(LESSON_01).notebook)
    run = run_lane(repository, package=repository)
    red = [cell for cell in run.of(LESSON_01.name) if cell.red]
    assert any(": NO" in cell.failure for cell in red), run.output
