"""The rules on all lessons together."""

from __future__ import annotations

from nbformat.v4 import new_markdown_cell, new_notebook

from lane import reading, rules_course


def lesson(name: str, heading: str = "Own words", terms=()):
    notebook = new_notebook(cells=[new_markdown_cell(f"## {heading}")])
    notebook.metadata["gpuutil"] = {"terms": list(terms)}
    return reading.from_notebook(notebook, name)


def test_a_heading_may_stand_in_two_notebooks_and_not_in_three():
    pages = [lesson(f"0{n}_a.ipynb", "Your guess") for n in range(3)]
    assert list(rules_course.repeated_headings(pages[:2])) == []
    (line,) = rules_course.repeated_headings(pages)
    assert "'your guess'" in line
    assert "00_a.ipynb, 01_a.ipynb, 02_a.ipynb" in line


def test_a_heading_twice_in_one_notebook_counts_once():
    page = lesson("00_a.ipynb", "Same\n## Same")
    assert list(rules_course.repeated_headings([page, page, page])) == []


def test_a_term_is_defined_in_one_lesson():
    pages = [lesson("00_a.ipynb", terms=["Median"]), lesson("01_a.ipynb", terms=["median"])]
    (line,) = rules_course.repeated_terms(pages)
    assert "'median' is defined in 00_a.ipynb, 01_a.ipynb" in line
    assert list(rules_course.repeated_terms(pages[:1])) == []


def test_a_number_belongs_to_one_lesson():
    (line,) = rules_course.repeated_numbers([lesson("00_a.ipynb"), lesson("00_b.ipynb")])
    assert "The number 00 belongs to 00_a.ipynb, 00_b.ipynb" in line
