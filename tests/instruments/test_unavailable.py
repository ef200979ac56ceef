from __future__ import annotations

import copy
import operator
import pickle

import numpy as np
import pytest

from gpuutil_helpers.instruments.measure import Unavailable

READING = Unavailable("the sensor is missing")


def test_says_why() -> None:
    assert str(READING) == "unavailable, because the sensor is missing"
    assert f"{READING:>45}" == "   unavailable, because the sensor is missing"


@pytest.mark.parametrize(
    "use",
    [
        bool,
        float,
        int,
        round,
        abs,
        operator.neg,
        operator.index,
        lambda reading: f"{reading:.1f}",
        lambda reading: "value" if reading else "nothing",
        lambda reading: sum([1.0, reading]),
        lambda reading: max(1.0, reading),
        lambda reading: sorted([reading, 1.0]),
        lambda reading: np.array([1.0, reading], dtype=float),
        lambda reading: np.array([1.0, reading], dtype=object).mean(),
    ],
)
def test_is_never_taken_for_a_number(use) -> None:
    with pytest.raises(TypeError, match="the sensor is missing"):
        use(READING)


@pytest.mark.parametrize(
    "name",
    ["lt", "le", "gt", "ge", "add", "sub", "mul", "truediv", "floordiv", "mod", "pow"],
)
@pytest.mark.parametrize("other", [0, 1.5, READING])
def test_neither_compares_nor_calculates_on_either_side(name: str, other: object) -> None:
    for left, right in ((READING, other), (other, READING)):
        with pytest.raises(TypeError, match="the sensor is missing"):
            getattr(operator, name)(left, right)


def test_equals_only_one_of_the_same_reason() -> None:
    assert Unavailable("the sensor is missing") == READING
    assert Unavailable("another") != READING
    assert READING != 0 and READING != "unavailable"
    assert pickle.loads(pickle.dumps(READING)) == copy.deepcopy(READING) == READING


@pytest.mark.parametrize("reason", ["", "  ", None, 3])
def test_needs_a_reason(reason: object) -> None:
    with pytest.raises(ValueError, match="needs a reason"):
        Unavailable(reason)
