"""A pytest plugin that writes down, for each notebook cell, how nbval judged it and why."""

from __future__ import annotations

import json
import os
from pathlib import Path

import pytest

VARIABLE = "NBVAL_RECORD"


@pytest.hookimpl(wrapper=True)
def pytest_runtest_makereport(item: pytest.Item, call: pytest.CallInfo):
    report = yield
    if hasattr(item, "cell_num") and (report.when == "call" or report.failed):
        outputs = [dict(output) for output in item.test_outputs or []]
        record = {
            "notebook": item.path.name,
            "code_index": item.cell_num,
            "outcome": report.outcome,
            "failure": report.longreprtext,
            "outputs": outputs,
        }
        with Path(os.environ[VARIABLE]).open("a", encoding="utf-8") as stream:
            stream.write(json.dumps(record, default=str) + "\n")
    return report
