"""What all checks share: the three lines they print, and the tests for an empty or odd answer."""

from __future__ import annotations

from gpuutil_helpers.course.checks import as_number


def is_open(*answers: object) -> bool:
    """True where any answer is still `...`, None, blank text or an empty list."""
    return any(
        answer is ... or answer is None or (isinstance(answer, str | list | tuple) and not answer)
        for answer in answers
    )


def is_number(answer: object) -> bool:
    """True for a finite number, NumPy's and PyTorch's too; a bool, text or NaN is none."""
    try:
        as_number(answer, "the answer")
    except (TypeError, ValueError):
        return False
    return True


def letter(answer: object) -> str:
    """A choice as one small letter, however it was typed: 'b', 'B', '(b)', 'b)'."""
    return answer.strip(" ().").lower() if isinstance(answer, str) else ""


def not_answered(number: str, wanted: str) -> None:
    """The line of an untouched exercise."""
    print(f"{number}: not answered yet: {wanted}")


def not_yet(number: str, hint: str) -> None:
    """The line of a wrong answer: a question or a smaller case, which names no answer."""
    print(f"{number}: not yet: {hint}")


def yes(number: str, why: str) -> None:
    """The line of the right answer, with the reason in one clause."""
    print(f"{number}: yes, {why}")
