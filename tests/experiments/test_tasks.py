"""Tasks in this process and in several: all are done, and a failure stays alone."""

import os

import pytest

from experiments.tasks import run_all


def work(task):
    if task == "breaks":
        raise ValueError("a reason")
    if task == "dies":
        os._exit(3)
    return f"did {task} with {os.environ['OMP_NUM_THREADS']} threads"


@pytest.fixture(autouse=True)
def same_threads(monkeypatch):
    monkeypatch.setenv("OMP_NUM_THREADS", "1")  # put back afterwards


@pytest.mark.parametrize("jobs", [1, 2])
def test_a_failure_is_told_and_the_others_go_on(jobs, capsys):
    tasks = ["a", "breaks", "b"] + ["dies"] * (jobs > 1) + ["c"]
    ended = run_all(tasks, work, jobs=jobs, threads=2)
    assert sorted(outcome.task for outcome in ended) == sorted(tasks)
    failed = {outcome.task: outcome.said for outcome in ended if outcome.failed}
    assert set(failed) == {"breaks", "dies"} & set(tasks)
    assert "ValueError: a reason" in failed["breaks"]
    assert all("ended with 3" in failed[task] for task in failed if task == "dies")
    assert "did a with 2 threads" in capsys.readouterr().out


def test_tasks_may_lead_to_others():
    ended = run_all([3], str, then=lambda outcome: [outcome.task - 1] if outcome.task else [])
    assert [outcome.task for outcome in ended] == [3, 2, 1, 0]


def test_nothing_begins_when_the_time_is_over(capsys):
    assert run_all(["a"], work, seconds=0.0) == []
    assert "1 tasks were not begun" in capsys.readouterr().out
