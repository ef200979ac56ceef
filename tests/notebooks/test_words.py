"""Words, sentences, minutes: counted by hand and by the tools."""

from __future__ import annotations

import pytest
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

from lane import names, reading, words
from lane.rules_prose import machine_number

PAGE = """\
# Four words are here

Two sentences. The second has `a = 1.5` in it, e.g. as code.

| Row | Value |
|---|---|
| one `x[0]` | two words |

```python
not counted at all
```

- An item: [a link](https://example.org/page) counts two.

<details><summary>Hint</summary>

Folded away. Not counted.

</details>
"""


def test_words_of_a_page():
    # heading 4; text 2 + 9 (`a = 1.5` is read as one); table 2 + 2 + 2; item 6
    assert words.count(words.visible(PAGE)) == 4 + 2 + 9 + 6 + 6


def test_sentences_of_a_page():
    assert words.sentences(PAGE) == [
        "Two sentences.",
        "The second has `a = 1.5` in it, e.g. as code.",
        "An item: a link counts two.",
        "Folded away.",
        "Not counted.",
    ]
    assert words.sentence_length("The second has `a = 1.5` in it, e.g. as code.") == 9


def test_a_number_at_the_start_is_no_sentence():
    assert words.sentences("**1. Find the lie.** Why is it one?") == [
        "Find the lie.",
        "Why is it one?",
    ]
    assert words.sentences("1. First.\n2. Second.") == ["First.", "Second."]


def test_headings_rows_items_and_bold():
    assert words.headings(PAGE) == words.top_headings(PAGE) == ["Four words are here"]
    assert words.table_rows(PAGE) == [["Row", "Value"], ["one `x[0]`", "two words"]]
    assert len(words.items(PAGE)) == 1
    assert words.bold("A **term**, `a ** b ** c` and **two\nlines**") == ["term", "two lines"]


def test_headings_inside_a_fence_do_not_count():
    assert words.headings("```\n# a comment\n```\n## Real") == ["Real"]


def lesson(*cells):
    return reading.from_notebook(new_notebook(cells=list(cells)), "00_test.ipynb")


def marked(cell, **facts):
    cell.metadata["gpuutil"] = {"route": "core", **facts}
    return cell


def test_minutes_are_words_by_120_and_one_a_code_cell_and_six_an_exercise():
    page = lesson(
        marked(new_markdown_cell("word " * 60)),
        marked(new_markdown_cell("<details><summary>Hint</summary>\n\nfolded\n</details>")),
        marked(new_code_cell("1")),
        marked(new_code_cell("..."), exercise="1"),
        marked(new_markdown_cell("Extra " * 600), route="extra"),
        marked(new_code_cell("2"), route="extra"),
    )
    assert reading.core_minutes(page) == pytest.approx(60 / 120 + 2 + 6)


def test_an_exercise_of_two_code_cells_counts_once():
    page = lesson(
        marked(new_code_cell("1"), exercise="1"), marked(new_code_cell("2"), exercise="1")
    )
    assert reading.core_minutes(page) == 2 + 6


def test_the_solution_is_the_python_block_of_the_second_fold():
    page = lesson(
        marked(
            new_markdown_cell(
                "<details><summary>Hint</summary>\n\n```python\nhint()\n```\n</details>\n"
                "<details><summary>Solution</summary>\n\nWhy:\n\n```python\na = 1\n\nb = 2\n```\n"
                "</details>"
            ),
            exercise="1",
        )
    )
    assert page.solution("1") == "a = 1\n\nb = 2"
    assert page.solution("2") is None


@pytest.mark.parametrize(
    ("statement", "found"),
    [
        ("The sum takes 12 ms here.", "12 ms"),
        ("The sum takes 12ms here.", "12ms"),
        ("It reads ~12.5 GB/s.", "~12.5 GB/s"),
        ("It trains 300 samples/s.", "300 samples/s"),
        ("It answers twelve requests per second.", "twelve requests per second"),
        ("An epoch takes three seconds.", "three seconds"),
        ("An epoch is a 30-second wait.", "30-second"),
        ("The run needs 2 minutes.", "2 minutes"),
        ("It is 3 times faster.", "3 times faster"),
        ("It is 3x slower.", "3x slower"),
        ("It is twice as fast.", "twice as fast"),
        ("It takes four times as long.", "four times as long"),
        ("The loader waits 61 % of it.", "61 %"),
        ("The GPU was 40 percent busy.", "40 percent"),
        ("The clock runs at 3 GHz.", "3 GHz"),
    ],
)
def test_a_number_of_one_machine_is_found(statement, found):
    assert machine_number(statement) == found


@pytest.mark.parametrize(
    "statement",
    [
        "A line has 64 bytes, room for sixteen float32 numbers.",
        "Fill 64 MiB with ones, ten times.",
        "1 KiB = 1024 B and 1 ms = 0.001 s.",
        "The 95 % interval of the time runs from the sixth to the fifteenth.",
        "Validation accuracy must reach 95 %.",
        "A sixteenth of the additions remain.",
        "Two steps, and a second thought.",
        "A published figure is 312 TFLOP/s.",
        "A colleague reports 300 GB/s on your machine.",
        "Suppose that a step takes 20 ms.",
        "**Core** 40 minutes.",
        "Accept when | an epoch takes less than 40 s",
        "The data set has 1797 pictures in 10 classes.",
    ],
)
def test_other_numbers_are_left_alone(statement):
    assert machine_number(statement) is None


def test_free_names():
    before = ["import torch\nfrom a import b as c", "def f(x, *rest):\n    y = x\n    return y"]
    assert list(names.free_names(before, ["z = f(torch.rand(c))", "print(z)"])) == []
    assert list(names.free_names(before, ["w = z", "print(w, v)"])) == [(0, ["z"]), (1, ["v"])]
    assert list(names.free_names([], ["try:\n    1\nexcept E as e:\n    e"])) == [(0, ["E"])]
