import io
import json
import logging
import re

from elasticrec.serve.monitoring import JsonLines, Metrics, NoFlood

LINE = re.compile(
    r"(# (HELP|TYPE) elasticrec_[a-z_]+ .+)"
    r'|(elasticrec_[a-z_]+(\{[a-z_]+="[^\n]*"(,[a-z_]+="[^\n]*")*\})? [0-9.e+-]+|\+Inf)'
)


def values(text):
    """Names with labels, and their numbers."""
    lines = [line for line in text.splitlines() if not line.startswith("#")]
    return {name: float(number) for name, _, number in (line.rpartition(" ") for line in lines)}


def test_the_page_counts_what_happened(client):
    content = client.get("/models/books/stream.elastic").content
    client.get("/models/books/stream.elastic?budget=5KB", {"range": "bytes=0-9"})
    client.get("/nothing/at/all")
    client.get("/models/books/vector")
    answer = client.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4; charset=utf-8"
    for line in answer.text.splitlines():
        assert LINE.fullmatch(line), line
    found = values(answer.text)
    requests = "elasticrec_http_requests_total"
    assert found[f'{requests}{{route="stream",method="GET",status="200"}}'] == 1
    assert found[f'{requests}{{route="stream",method="GET",status="206"}}'] == 1
    assert found[f'{requests}{{route="other",method="GET",status="404"}}'] == 1
    assert found['elasticrec_http_response_bytes_total{route="stream"}'] == len(content) + 10
    assert found['elasticrec_http_request_duration_seconds_count{route="stream"}'] == 2
    assert found['elasticrec_tokens_refused_total{reason="missing"}'] == 1
    assert found['elasticrec_model_loads_total{model="books"}'] == 1
    assert found["elasticrec_http_requests_in_flight"] == 1
    assert found["elasticrec_resident_memory_bytes"] > 10**7
    for name, kind in re.findall(r"# TYPE (\S+) (\S+)", answer.text):
        assert (kind == "counter") == name.endswith("_total")


def test_buckets_are_cumulative():
    metrics = Metrics()
    for seconds in (0.0005, 0.003, 0.003, 99.0):
        metrics.seconds.observe(seconds, "it")
    found = values(metrics.text())
    name = "elasticrec_http_request_duration_seconds"
    bounds = ("0.001", "0.0025", "0.005", "60", "+Inf")
    counts = [found[f'{name}_bucket{{route="it",le="{bound}"}}'] for bound in bounds]
    assert counts == [1, 1, 3, 3, 4]
    assert found[f'{name}_count{{route="it"}}'] == 4
    assert found[f'{name}_sum{{route="it"}}'] == 0.0005 + 0.003 + 0.003 + 99.0


def test_a_log_line_is_one_json_object():
    record = logging.makeLogRecord({"name": "x", "msg": "two\nlines", "status": 200})
    line = JsonLines().format(record)
    assert "\n" not in line
    assert json.loads(line)["event"] == "two\nlines"
    assert json.loads(line)["status"] == 200


def test_what_clients_can_cause_below_is_logged_once_per_interval():
    stream = io.StringIO()
    handler = logging.StreamHandler(stream)
    handler.addFilter(NoFlood())
    for n in range(100):
        handler.handle(logging.makeLogRecord({"name": "uvicorn.error", "msg": "Invalid HTTP"}))
        handler.handle(logging.makeLogRecord({"name": "asyncio", "msg": "accept failed"}))
        handler.handle(logging.makeLogRecord({"name": "elasticrec", "msg": f"line {n % 2}"}))
    assert len(stream.getvalue().splitlines()) == 102
