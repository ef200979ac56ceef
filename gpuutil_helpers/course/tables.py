"""The lab notes as DataFrames. The columns are the same when there is nothing in them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING

from gpuutil_helpers.course import predictions
from gpuutil_helpers.course.predictions import Record

if TYPE_CHECKING:
    from pandas import DataFrame

NOTES = {
    **{"time": "str", "lesson": "str", "kind": "str", "key": "str", "what": "object"},
    **{"unit": "str", "low": "float64", "high": "float64", "late": "boolean", "details": "str"},
}
CALIBRATION = {
    **{"lesson": "str", "key": "str", "unit": "str", "guess": "object", "measured": "object"},
    **{"low": "float64", "high": "float64", "ratio": "float64"},
    **{"within": "boolean", "right": "boolean"},
}


def notes_table(records: Iterable[Record]) -> DataFrame:
    """One row a line of the notes, in the order written.

    Columns: time (UTC), lesson, kind, key, what (the guess, the median or choice, the decision,
    the symptom), unit, low and high (95 % interval of the median), late (predictions only),
    details (the rest, as text).
    """
    records = tuple(records)
    late = {id(record) for record in predictions.late_predictions(records)}
    return _frame([_notes_row(record, id(record) in late) for record in records], NOTES)


def calibration_table(records: Iterable[Record]) -> DataFrame:
    """One row a key that was guessed before its first measurement, with that measurement.

    Columns: lesson, key, unit, guess, measured, low and high (95 % interval of the median), ratio
    (guess / measured), within (guess inside the interval), right (choices only). What does not
    apply is missing.
    """
    rows = [
        {
            "lesson": record["lesson"],
            "key": record["key"],
            "unit": measured.unit,
            "guess": measured.guess,
            "measured": measured.result,
            "low": measured.low,
            "high": measured.high,
            "ratio": measured.ratio,
            "within": measured.within,
            "right": measured.right,
        }
        for record, measured in predictions.calibrated(records)
    ]
    return _frame(rows, CALIBRATION)


def _notes_row(record: Record, late: bool) -> dict[str, object]:
    row = {name: record[name] for name in ("time", "lesson", "kind", "key")}
    row |= {"unit": record.get("unit", ""), "low": record.get("low"), "high": record.get("high")}
    kind = record["kind"]
    if kind == "prediction":
        return row | {"what": record["guess"], "late": late, "details": record["why"]}
    if kind == "measurement":
        return row | {"what": _seen(record), "details": _how(record)}
    fields = [name for name in record if name not in (*NOTES, "version")]
    first, *others = fields
    details = "; ".join(f"{name.replace('_', ' ')}: {record[name]}" for name in others)
    return row | {"what": record[first], "details": details}


def _seen(record: Record) -> object:
    if record["unavailable"] is not None:
        return f"unavailable, because {record['unavailable']}"
    return record["median"] if record["choice"] is None else record["choice"]


def _how(record: Record) -> str:
    count = len(record["samples"])
    return f"{record['name']}, n = {count}" if count else record["name"]


def _frame(rows: list[dict[str, object]], columns: dict[str, str]) -> DataFrame:
    import pandas as pd

    return pd.DataFrame(rows, columns=list(columns)).astype(columns)
