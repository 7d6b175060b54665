import json
import logging
import re
import subprocess
import sys

from elasticrec.serve.logs import JsonLines
from elasticrec.serve.metrics import Metrics

LINE = re.compile(
    r"(# (HELP|TYPE) elasticrec_[a-z_]+ .+)"
    r'|(elasticrec_[a-z_]+(\{[a-z_]+="[^\n]*"(,[a-z_]+="[^\n]*")*\})? [0-9.e+-]+|\+Inf)'
)


def values(text):
    """Names with labels, and their numbers."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(number) for name, _, number in (line.rpartition(" ") for line in lines)}


def test_the_page_counts_what_happened(client):
    url = client.about("60KB")["url"]
    content = client.get(url).content
    client.get(url, {"range": "bytes=0-9"})
    client.get("/nothing")
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for line in answer.text.splitlines():
        assert LINE.fullmatch(line), line
    found = values(answer.text)
    route = 'route="/v1/bundles/{sha256}"'
    assert found[f'elasticrec_http_requests_total{{{route},method="GET",status="200"}}'] == 1
    assert found[f'elasticrec_http_requests_total{{{route},method="GET",status="206"}}'] == 1
    assert found[f"elasticrec_http_response_bytes_total{{{route}}}"] == len(content) + 10
    assert found[f"elasticrec_http_request_duration_seconds_count{{{route}}}"] == 2
    assert found['elasticrec_searches_total{model="books"}'] == 1
    assert found['elasticrec_packs_total{model="books"}'] == 1
    assert found["elasticrec_shelf_misses_total"] == 1
    assert found["elasticrec_shelf_files"] == 3  # a bundle and two catalogues
    assert found["elasticrec_models"] == 2
    assert found["elasticrec_ready"] == 1
    assert found["elasticrec_resident_memory_bytes"] > 10**7
    names = re.findall(r"# TYPE (\S+) (\S+)", answer.text)
    assert len(names) == len({name for name, _ in names})
    for name, kind in names:
        assert (kind == "counter") == name.endswith("_total")


def test_buckets_add_up():
    metrics = Metrics()
    for seconds in (0.0005, 0.003, 0.003, 99.0):
        metrics.search_seconds.observe(seconds)
    (row,) = metrics.search_seconds.values.values()
    assert sum(row[:-1]) == 4
    assert row[-1] == 0.0005 + 0.003 + 0.003 + 99.0


def test_the_numbers_of_all_living_processes_are_added(tmp_path):
    code = (
        "import sys; from pathlib import Path; from elasticrec.serve.metrics import Metrics\n"
        "m = Metrics(); m.packs.add(5, 'books'); m.models.set(1, 'books', 'x')\n"
        "m.search_seconds.observe(0.002); m.leave(Path(sys.argv[1])); print('left', flush=True)\n"
        "sys.stdin.readline()"
    )
    command = [sys.executable, "-c", code, str(tmp_path)]
    mine = Metrics()
    mine.packs.add(2, "books")
    mine.models.set(1, "books", "x")
    mine.search_seconds.observe(0.002)
    pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
    with subprocess.Popen(command, **pipes) as other:
        assert other.stdout.readline() == "left\n"
        found = values(mine.text(tmp_path, {"free": ("Free.", 1.5)}))
        assert found['elasticrec_packs_total{model="books"}'] == 7
        assert found['elasticrec_model_info{model="books",model_id="x"}'] == 1
        assert found['elasticrec_search_duration_seconds_bucket{le="0.0025"}'] == 2
        assert found["elasticrec_free"] == 1.5
        other.kill()
    found = values(mine.text(tmp_path, {}))
    assert found['elasticrec_packs_total{model="books"}'] == 2


def test_label_values_are_escaped():
    metrics = Metrics()
    metrics.packs.add(1, 'a"b\\c\nd')
    text = metrics.snapshot()["elasticrec_packs_total"]
    assert text == [[['a"b\\c\nd'], [1.0]]]


def test_log_lines_are_json():
    record = logging.makeLogRecord(
        {"name": "elasticrec.serve", "msg": "line\n%s", "args": ("é",), "levelname": "INFO"}
        | {"request_id": "abc", "bytes": 5}
    )
    text = JsonLines().format(record)
    assert "\n" not in text
    line = json.loads(text)
    assert (line["event"], line["level"]) == ("line\né", "info")
    assert (line["request_id"], line["bytes"]) == ("abc", 5)
    assert re.fullmatch(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z", line["time"])
