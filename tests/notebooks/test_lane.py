"""What the real nbval lane catches and what it lets through, so that the guard covers the rest."""

from __future__ import annotations

import copy

import pytest
from nbformat import NotebookNode
from nbformat.v4 import new_code_cell, new_notebook, new_output

from lane import guard, mutations, problems, reading
from lane.mutations import Mutation
from lane.nbval_run import DIFFERS, RAISED, CellRun, Run, add_notebook, make_repository, run_lane
from lane.places import SAMPLE, lessons

FLIPPED = "no number is lost on the way"


@pytest.fixture(scope="module")
def sample() -> reading.Lesson:
    return reading.load(SAMPLE)


def cell(source: str, *outputs: NotebookNode, tags: tuple[str, ...] = ()) -> NotebookNode:
    """A code cell that was run first, with these stored outputs."""
    made = new_code_cell(source, execution_count=1, outputs=list(outputs))
    made.metadata["tags"] = list(tags)
    return made


def stdout(text: str) -> NotebookNode:
    return new_output("stream", name="stdout", text=text)


def result(text: str) -> NotebookNode:
    return new_output("execute_result", {"text/plain": text}, execution_count=1)


def picture(data: str) -> NotebookNode:
    shown = {"image/png": data, "text/plain": "<Figure>"}
    return new_output("display_data", shown, metadata={"image/png": {"alt": data}})


SHOW = (
    "from IPython.display import display\n"
    'display({"image/png": "bmV3", "text/plain": "<Figure>"}, raw=True)'
)
#: What is tried -> (the cell, whether nbval goes red).
SMALL = {
    "same": (cell("print(1)", stdout("1\n")), False),
    "other": (cell("print(1)", stdout("2\n")), True),
    "other_ignored": (
        cell("print(1)", stdout("2\n"), tags=("nbval-ignore-output",)),
        False,
    ),
    "stripped": (new_code_cell("print('checked by nobody')"), False),
    "other_picture": (cell(SHOW, picture("b2xk")), False),
    "measured": (cell("print('a: ~7 ms -> x')", stdout("a: ~1.5 s -> x\n")), False),
    "measured_verdict": (cell("print('a: ~7 ms -> x')", stdout("a: ~7 ms -> y\n")), True),
    "exact": (cell("print('7 ms')", stdout("8 ms\n")), True),
    "semicolon": (cell("1 + 1;"), True),
    "cleared": (
        cell(
            "from IPython.display import clear_output\nprint(1)\nclear_output()\nprint(2)",
            stdout("2\n"),
        ),
        True,
    ),
    "warned": (cell("import warnings; warnings.warn('x')"), True),
    "no_longer_raises": (cell("print(1)", stdout("1\n"), tags=("raises-exception",)), False),
    "raised": (cell("1 / 0"), True),
}


@pytest.fixture(scope="module")
def small(tmp_path_factory: pytest.TempPathFactory) -> dict[str, CellRun]:
    """How nbval judges each small cell; all stand in one notebook, one kernel runs them."""
    repository = make_repository(tmp_path_factory.mktemp("small"))
    cells = [only for only, _ in SMALL.values()]
    add_notebook(repository, "small.ipynb", new_notebook(cells=cells))
    run = run_lane(repository)
    assert len(run.cells) == len(SMALL), run.output
    return dict(zip(SMALL, run.cells, strict=True))


@pytest.mark.parametrize("name", SMALL)
def test_what_nbval_compares(small, name):
    assert small[name].red is SMALL[name][1], small[name].failure


def test_what_nbval_says(small):
    assert DIFFERS in small["other"].failure
    assert RAISED in small["raised"].failure


def stripped(notebook: NotebookNode) -> NotebookNode:
    copied = copy.deepcopy(notebook)
    for node in copied.cells:
        if node.cell_type == "code":
            node.outputs, node.execution_count = [], None
    return copied


def flipped(notebook: NotebookNode) -> NotebookNode:
    copied = copy.deepcopy(notebook)
    for node in copied.cells:
        for output in node.get("outputs", []):
            if "text" in output:
                output.text = output.text.replace(f"{FLIPPED}: yes", f"{FLIPPED}: NO")
    return copied


def with_mutation(lesson: reading.Lesson, old: str, new: str) -> Mutation:
    """A mutation of the first verdict's cell that the sample does not name."""
    return Mutation(lesson, mutations.of_lesson(lesson)[0].cell, old, new, FLIPPED)


def harmless(lesson: reading.Lesson) -> Mutation:
    return with_mutation(lesson, "(k / 8 for k in range(n))", "(k / 4 for k in range(n))")


def raising(lesson: reading.Lesson) -> Mutation:
    return with_mutation(lesson, 'array("f", numbers)', 'array("f", nobody)')


@pytest.fixture(scope="module")
def changed(sample, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """The sample: as it is, stripped, flipped, and with each mutation."""
    repository = make_repository(tmp_path_factory.mktemp("changed"))
    add_notebook(repository, "stripped.ipynb", stripped(sample.notebook))
    add_notebook(repository, "flipped.ipynb", flipped(sample.notebook))
    for make in (harmless, raising):
        add_notebook(repository, f"{make.__name__}.ipynb", mutations.apply(make(sample)))
    for index, mutation in enumerate(mutations.of_lesson(sample)):
        add_notebook(repository, f"mutation_{index}.ipynb", mutations.apply(mutation))
    return run_lane(repository)


def test_a_flipped_verdict_turns_the_run_red(changed):
    red = [judged for judged in changed.of("flipped.ipynb") if judged.red]
    assert len(red) == 1
    assert f"{FLIPPED}: NO" in red[0].failure
    assert changed.status == 1


def test_a_stripped_lesson_is_green_for_nbval_and_red_for_the_guard(sample, changed):
    assert not changed.red("stripped.ipynb")
    page = reading.from_notebook(stripped(sample.notebook), SAMPLE)
    said = [line for rule in guard.RULES for line in problems.sentences(page, rule)]
    assert any("was never run, so nbval would compare nothing" in line for line in said)


@pytest.mark.parametrize("index", range(3))
def test_each_mutation_of_the_sample_turns_its_verdict(sample, changed, index):
    mutation = mutations.of_lesson(sample)[index]
    assert mutations.shortcomings(mutation, changed.of(f"mutation_{index}.ipynb")) == []


def test_the_sample_names_three_mutations(sample):
    assert len(mutations.of_lesson(sample)) == 3


@pytest.mark.parametrize(
    ("make", "says"),
    [
        (harmless, "the run stays green"),
        (raising, "broke for another reason"),
    ],
)
def test_a_mutation_that_proves_nothing_is_told(sample, changed, make, says):
    found = mutations.shortcomings(make(sample), changed.of(f"{make.__name__}.ipynb"))
    assert any(says in line for line in found), found


def test_red_for_another_verdict_of_the_same_cell_is_told(sample):
    mutation = mutations.of_lesson(sample)[1]
    said = f"another: NO\n{mutation.verdict}: yes\n"
    judged = CellRun("a.ipynb", mutation.cell.code_index, "failed", f"{DIFFERS} {said}", said)
    assert "but the verdict reads yes" in mutations.shortcomings(mutation, [judged])[0]


def test_red_without_the_verdict_in_the_failure_is_told(sample):
    mutation = mutations.of_lesson(sample)[1]
    said = f"{mutation.verdict}: NO\n"
    judged = CellRun("a.ipynb", mutation.cell.code_index, "failed", f"{DIFFERS}: a field", said)
    assert "not because of the verdict" in mutations.shortcomings(mutation, [judged])[0]


def test_a_verdict_that_was_never_run_is_told(sample):
    mutation = mutations.of_lesson(sample)[0]
    assert "was never run" in mutations.shortcomings(mutation, [])[0]


def test_a_mutated_notebook_ends_with_the_cell_of_its_verdict(sample):
    mutation = mutations.of_lesson(sample)[0]
    notebook = mutations.apply(mutation)
    assert f'"{mutation.verdict}"' in notebook.cells[-1].source
    assert notebook.cells[-1].outputs == sample.cells[mutation.cell.index].outputs


def test_a_mutation_must_fit_once(sample):
    with pytest.raises(ValueError, match="stands 0 times in 90_sample"):
        mutations.apply(with_mutation(sample, "not there", "x"))


def test_one_verdict_of_a_lesson_is_turned_in_every_run(tmp_path):
    """The cheapest: the verdict nearest to the top of any lesson."""
    named = [m for path in lessons() for m in mutations.of_lesson(reading.load(path))]
    assert named, "no lesson names a mutation"
    mutation = min(named, key=lambda m: m.cell.code_index)
    assert mutations.shortcomings(mutation, mutations.run(mutation, tmp_path)) == []
