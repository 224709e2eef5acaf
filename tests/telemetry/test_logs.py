"""One line each, with the fields that were given."""

from __future__ import annotations

import io
import json
import logging
from collections.abc import Iterator

import pytest

from managedjobs.telemetry.logs import set_up_logs


@pytest.fixture
def stream() -> Iterator[io.StringIO]:
    root = logging.getLogger()
    handlers, level = root.handlers, root.level
    yield io.StringIO()
    root.handlers, root.level = handlers, level


def test_a_text_line_has_level_logger_message_and_fields(stream: io.StringIO):
    set_up_logs("info", "text", stream)
    logging.getLogger("managedjobs.scheduler.loop").info("deciding", extra={"term": 3, "why": "a b", "none": ""})
    line = stream.getvalue()
    assert line.endswith('INFO    scheduler.loop: deciding term=3 why="a b" none=""\n')


def test_a_json_line_is_one_object(stream: io.StringIO):
    set_up_logs("warning", "json", stream)
    logging.getLogger("managedjobs.x").info("not said")
    logging.getLogger("managedjobs.x").warning("two\nlines", extra={"job": "a/b"})
    entry = json.loads(stream.getvalue())
    assert (entry["level"], entry["message"], entry["job"]) == ("warning", "two\nlines", "a/b")
    assert entry["time"].endswith("Z")


@pytest.mark.parametrize("form", ["text", "json"])
def test_a_traceback_is_there_where_one_was_logged(stream: io.StringIO, form: str):
    set_up_logs("info", form, stream)
    try:
        int("broken")
    except ValueError:
        logging.getLogger("managedjobs.x").exception("failed")
    assert "ValueError: invalid literal" in stream.getvalue()
