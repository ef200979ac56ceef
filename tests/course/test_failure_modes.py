"""The checklist of lesson 00 holds the five failure modes, each with what stops it."""

from __future__ import annotations

from gpuutil_helpers.course.failure_modes import FAILURE_MODES, checklist


def test_there_are_five_and_each_says_how_it_looks_and_what_stops_it():
    assert len(FAILURE_MODES) == len({mode.failure for mode in FAILURE_MODES}) == 5
    assert all(mode.looks_like and mode.stopped_by for mode in FAILURE_MODES)


def test_the_table_shows_every_text_in_full():
    shown = checklist().data
    assert len(shown.splitlines()) == 2 + len(FAILURE_MODES)
    for mode in FAILURE_MODES:
        for text in (mode.failure, mode.looks_like, mode.stopped_by):
            assert text in shown
