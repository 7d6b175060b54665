"""Tasks in this process and in several: all are done, and a failure stays alone."""

import os
import time

import pytest

from elasticrec.engine import using
from experiments.command import run_all


def work(task):
    if task == "breaks":
        raise ValueError("a reason")
    if task == "dies":
        os._exit(3)
    if task == "waits":
        time.sleep(60)
    return f"did {task} with {os.environ.get('OMP_NUM_THREADS')} threads"


@pytest.mark.parametrize("engine", ["serial", "processes"])
def test_a_failure_is_told_and_the_others_go_on(engine, capsys):
    tasks = ["a", "breaks", "b"] + ["dies"] * (engine == "processes") + ["c"]
    with using(engine):
        ended = run_all(tasks, work)
    assert sorted(each.task for each in ended) == sorted(tasks)
    failed = {each.task: each.said for each in ended if each.failed}
    assert set(failed) == {"breaks", "dies"} & set(tasks)
    assert "ValueError: a reason" in failed["breaks"]
    assert all("ended with 3" in failed[task] for task in failed if task == "dies")
    said = capsys.readouterr()
    assert "did a with 1 threads" in said.out
    assert "line" in said.err  # where it failed


def test_nothing_begins_when_the_time_is_over(capsys):
    assert run_all(["a"], work, seconds=-1.0) == []
    assert "1 tasks were not done" in capsys.readouterr().out


def test_what_runs_elsewhere_is_ended_when_the_time_is_over(capsys):
    with using("processes", workers=2):
        ended = run_all(["waits", "a"], work, seconds=6.0)
    assert [each.task for each in ended] == ["a"]
    assert "1 tasks were not done" in capsys.readouterr().out
