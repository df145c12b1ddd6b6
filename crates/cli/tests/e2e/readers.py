"""Reads exports with the programs they are made for, and prints what these see as one JSON object.

    readers.py FORMAT FILE [SCHEMA]

Run by export.rs, in the environment that scripts/install-pypi readers makes.
"""
import csv
import json
import math
import sys


def read_csv(path):
    """DuckDB as it is, without options; and Python's own reader."""
    import duckdb

    table = duckdb.sql(f"select * from read_csv('{path}')")
    types = dict(zip(table.columns, map(str, table.types)))
    sums = duckdb.sql(
        f"""select count(*)::int, sum(scheduled)::bigint, sum(ends_answered)::bigint, sum(response_count)::bigint,
            max(response_max_ns)::bigint, count(distinct run_id)::int from '{path}'"""
    ).fetchall()[0]
    with open(path, newline="", encoding="utf-8") as file:
        lines = list(csv.reader(file))
    assert all(len(line) == len(lines[0]) for line in lines), "each line has a cell for each title"
    assert lines[0] == table.columns, "both read the same titles"
    # A column in which every cell is empty has no type; a figure in words would make the whole column text.
    texts = [title for title, kind in types.items() if kind == "VARCHAR"]
    filled = [t for t in texts if any(line[lines[0].index(t)] for line in lines[1:])]
    names = ["lines", "scheduled", "answered", "responses", "longest_ns", "runs"]
    return dict(zip(names, sums)) | {"texts": filled}


def read_hlog(path):
    """HdrHistogram's reader for Python."""
    from hdrh.histogram import HdrHistogram
    from hdrh.log import HistogramLogReader

    whole = HdrHistogram(1, 2**41 - 1, 2)
    intervals = []
    reader = HistogramLogReader(path, whole)
    while histogram := reader.get_next_interval_histogram():
        whole.add(histogram)
        length_ms = histogram.get_end_time_stamp() - histogram.get_start_time_stamp()
        intervals.append([histogram.get_total_count(), round(length_ms), histogram.get_tag()])
    quantiles = {str(q): whole.get_value_at_percentile(q) for q in (50, 90, 95, 99, 99.9)}
    return {"intervals": intervals, "total": whole.get_total_count(), "percentiles": quantiles}


def read_json(path, schema):
    """A validator of JSON Schema 2020-12."""
    import jsonschema

    with open(schema, encoding="utf-8") as file:
        schema = json.load(file)
    jsonschema.Draft202012Validator.check_schema(schema)
    with open(path, encoding="utf-8") as file:
        summary = json.load(file)
    errors = jsonschema.Draft202012Validator(schema).iter_errors(summary)
    return {"errors": [f"{error.json_path}: {error.message}" for error in errors]}


def read_junit(path):
    """A parser of JUnit, by the rules that Jenkins and GitLab read."""
    from junitparser import Failure, JUnitXml, Skipped

    def result(case):
        kinds = [type(one) for one in case.result]
        return "failed" if Failure in kinds else "skipped" if Skipped in kinds else "passed"

    suites = list(JUnitXml.fromfile(path))
    cases = [[case.name, result(case), (case.system_out or "").strip()] for suite in suites for case in suite]
    counts = [[suite.name, suite.tests, suite.failures, suite.skipped] for suite in suites]
    return {"suites": counts, "cases": cases}


def read_shotgun(path):
    """What the four programs of DNS Shotgun need of a file, and how plot-latency.py finds a percentile."""
    with open(path, encoding="utf-8") as file:
        data = json.load(file)
    assert data["version"] == 20200527 and isinstance(data["merged"], bool)
    for key in ("stats_interval_ms", "timeout_ms", "discarded"):
        assert isinstance(data[key], int), key
    rcodes = """noerror formerr servfail nxdomain notimp refused yxdomain yxrrset nxrrset notauth notzone badvers
        badkey badtime badmode badname badalg badtrunc badcookie other""".split()
    counts = """since_ms until_ms requests ongoing answers conn_active conn_handshakes conn_resumed
        conn_quic_0rtt_loaded quic_0rtt_sent quic_0rtt_answered conn_handshakes_failed""".split()
    counts += [f"rcode_{name}" for name in rcodes]
    periods = data["stats_periodic"]
    assert periods, "plot-response-rate.py and plot-connections.py take the first"
    for stats in [data["stats_sum"], *periods]:
        for key in counts:
            assert isinstance(stats[key], int) and stats[key] >= 0, key
        assert set(stats) == {*counts, "latency"}, "no other keys"
        assert stats["until_ms"] > stats["since_ms"], "the programs divide by it"
        assert len(stats["latency"]) == data["timeout_ms"] + 1, "merge-data.py adds them up"
        assert sum(stats["latency"]) == stats["requests"]
        assert stats["latency"][-1] == stats["requests"] - stats["answers"]
    assert periods == sorted(periods, key=lambda stats: stats["since_ms"])

    latency = [sum(column) for column in zip(*(stats["latency"] for stats in periods))]

    def percentile_ms(slowest):
        rank = math.ceil((100 - slowest) / 100 * sum(latency) - 1)
        seen = 0
        for ms, count in enumerate(latency):
            seen += count
            if rank <= seen:
                return ms

    return {
        "requests": sum(stats["requests"] for stats in periods),
        "answers": sum(stats["answers"] for stats in periods),
        "nxdomain": sum(stats["rcode_nxdomain"] for stats in periods),
        "handshakes": sum(stats["conn_handshakes"] for stats in periods),
        "p50_ms": percentile_ms(50),
        "p99_ms": percentile_ms(1),
        "sum": {key: data["stats_sum"][key] for key in ("requests", "answers", "conn_active")},
    }


READERS = {
    "csv": read_csv,
    "hlog": read_hlog,
    "json": read_json,
    "junit": read_junit,
    "shotgun": read_shotgun,
}

print(json.dumps(READERS[sys.argv[1]](*sys.argv[2:])))
