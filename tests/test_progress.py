import time

import pytest

from elasticrec import progress
from elasticrec.progress import stage


def test_a_long_stage_is_logged_when_it_is_slow_and_at_its_end(caplog, monkeypatch):
    monkeypatch.setattr(progress, "PATIENCE", 0.05)
    with caplog.at_level("INFO"), stage("reading a.csv"):
        time.sleep(0.2)
        assert caplog.messages == ["reading a.csv …"]
    assert caplog.messages[1:] == ["reading a.csv took 0 s"]


def test_a_short_or_failed_stage_is_silent(caplog):
    with caplog.at_level("INFO"):
        with stage("reading a.csv"):
            pass
        with pytest.raises(ValueError, match="x"), stage("reading b.csv"):
            raise ValueError("x")
    assert caplog.messages == []
