"""What to answer wrongly in each exercise: lesson -> exercise -> its cases.

Besides the misconceptions listed here, `test_exercises` tries the stub as it is committed, an empty
answer and wrong types in the place of each `...`, and the solution that the notebook shows.

    CASES = {
        "00": {
            "1": Case(
                misconceptions=(
                    # a change of the committed stub: old text -> new text, each standing there once
                    Misconception("both cores", stub={"choice=...": "choice='a'", "=...)": "=0)"}),
                    # or a change of the shown solution, which suits long answers
                    Misconception("claimed bytes", solution={"bytes_held=8": "bytes_held=4 * n"}),
                    # or a whole cell; `expected=OPEN` where the answer is only begun
                    Misconception("half of it", source="check(choice='b', bytes_held=...)",
                                  expected=OPEN),
                ),
                never=("storage",),  # no hint may say this
            ),
        },
    }
"""

from __future__ import annotations

from lane.exercises import Case, Misconception

_TOO_GOOD = Case(
    misconceptions=(
        Misconception("a second core", solution={'choice="b"': 'choice="a"'}),
        Misconception("compression", solution={'choice="b"': 'choice="c"'}),
        Misconception("claimed bytes", solution={"hers.untyped_storage().nbytes()": "hers.nbytes"}),
        Misconception(
            "numbers for bytes", solution={"hers.untyped_storage().nbytes()": "hers.shape[1]"}
        ),
        Misconception(
            "bytes of the earlier cell", solution={"hers.untyped_storage().nbytes()": "4"}
        ),
    ),
    never=("4096", "untyped_storage"),
)

_COUNTED = "counted[4], counted[1], counted[7]"
_REPORT = Case(
    misconceptions=(
        Misconception("the mean", solution={_COUNTED: "sum(counted) / 9, counted[1], counted[7]"}),
        Misconception(
            "the warm-up among them",
            solution={_COUNTED: "sum(sorted(raw)[4:6]) / 2, counted[1], counted[7]"},
        ),
        Misconception(
            "the middle of the order taken",
            solution={  # fixed times: the reader's own might lie in order by chance
                "[*fills.warmup, *fills.samples]": "[9.0, 3, 1, 7, 2, 8, 4, 6, 0.5, 5]",
                "sorted(raw[1:])": "raw[1:]",
            },
        ),
        Misconception(
            "milliseconds", solution={_COUNTED: "1e3 * counted[4], 1e3 * counted[1], counted[7]"}
        ),
        Misconception("the extremes", solution={_COUNTED: "counted[4], counted[0], counted[8]"}),
        Misconception(
            "ranks taken for places", solution={_COUNTED: "counted[4], counted[2], counted[8]"}
        ),
        Misconception("ends swapped", solution={_COUNTED: "counted[4], counted[7], counted[1]"}),
        Misconception("ten calls", solution={"count = len(counted)": "count = 10"}),
        Misconception("rounded", solution={_COUNTED: "1.004 * counted[4], counted[1], counted[7]"}),
        Misconception("quartiles", solution={_COUNTED: "counted[4], counted[3], counted[5]"}),
    ),
)

_ORDER = Case(
    misconceptions=(
        Misconception("emptied between the halves", solution={"CDBA": "CDEBA"}),
        Misconception("a step after each half", solution={"CDBA": "CDABF"}),
        Misconception("never emptied", solution={"CDBA": "DBA"}),
        Misconception("one half alone", solution={"CDBA": "CDA"}),
        Misconception("stepped too early", solution={"CDBA": "CDAB"}),
        Misconception("emptied before the step", solution={"CDBA": "DBCA"}),
        Misconception("emptied afterwards", solution={"CDBA": "DBAC"}),
        Misconception("no step", solution={"CDBA": "CDB"}),
        Misconception("a letter twice", solution={"CDBA": "CDBAC"}),
    ),
    never=("CDBA", "CBDA"),
)

_ZERO, _BACK, _STEP = (
    "    optimizer.zero_grad()\n",
    "    loss.backward()\n",
    "    optimizer.step()\n",
)
_TRAIN_STEP = Case(
    misconceptions=(
        Misconception("no zero_grad", solution={_ZERO: ""}),
        Misconception("emptied before the step", solution={_ZERO: "", _BACK: _BACK + _ZERO}),
        Misconception("step before backward", solution={_BACK + _STEP: _STEP + _BACK}),
        Misconception("no step", solution={_STEP: ""}),
        Misconception("no backward", solution={_BACK: ""}),
        Misconception("returns the tensor", solution={"loss.item()": "loss"}),
        Misconception("evaluation mode", solution={_ZERO: _ZERO + "    model.eval()\n"}),
        Misconception(
            "the sum, not the mean",
            solution={
                "F.cross_entropy(scores, labels)": (
                    "F.cross_entropy(scores, labels, reduction='sum')"
                )
            },
        ),
        Misconception("a name that does not exist", solution={"loss.item()": "losses.item()"}),
        Misconception(
            "arguments swapped",
            solution={"F.cross_entropy(scores, labels)": "F.cross_entropy(labels, scores)"},
        ),
        Misconception(
            "softmax first",
            solution={
                "F.cross_entropy(scores, labels)": "F.cross_entropy(scores.softmax(1), labels)"
            },
        ),
        Misconception(
            "an optimizer of one's own",
            solution={_ZERO: "    optimizer = torch.optim.SGD(model.parameters(), 1.0)\n" + _ZERO},
        ),
        Misconception(
            "a name of the notebook alone",
            solution={
                "def train_step": "scale = 1.0\n\n\ndef train_step",
                "loss.item()": "scale * loss.item()",
            },
        ),
    ),
    wrong_types=(),  # values in the place of a function's body mean nothing
    twice=False,
)

CASES: dict[str, dict[str, Case]] = {
    "00": {"1": _TOO_GOOD, "2": _REPORT},
    "01": {"1": _ORDER, "2": _TRAIN_STEP},
}
