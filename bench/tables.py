"""What bench/tables.sh says."""

import filecmp
import json
import os
import shutil
import sys
from pathlib import Path

import numpy as np

from made_captures import scratch
from report import PLIMSOLL, PYTHON, ROOT, machine, rounds, table, timed, timed_peer, write_section

sys.path.insert(0, str(ROOT / "tests" / "python"))
from cgroup import MemoryCgroup

MIB = 1 << 20
RESULTS = ROOT / "bench" / "results" / "tables.md"
FLIGHTS = Path(os.environ.get("PLIMSOLL_DATA", ROOT.parent / "shared" / "data")) / "relational-nycflights13"
TPCH = {
    "region": (["r_regionkey"], None, []),
    "nation": (["n_nationkey"], None, [(["n_regionkey"], "region")]),
    "supplier": (["s_suppkey"], None, [(["s_nationkey"], "nation")]),
    "customer": (["c_custkey"], None, [(["c_nationkey"], "nation")]),
    "part": (["p_partkey"], None, []),
    "partsupp": (["ps_partkey", "ps_suppkey"], None, [(["ps_partkey"], "part"), (["ps_suppkey"], "supplier")]),
    "orders": (["o_orderkey"], "o_orderdate", [(["o_custkey"], "customer")]),
    "lineitem": ([], "l_shipdate", [(["l_orderkey"], "orders"), (["l_partkey", "l_suppkey"], "partsupp")]),
}


def words_of(columns):
    return columns[0] if len(columns) == 1 else f"({','.join(columns)})"


def table_options(folder):
    options = []
    for name, (key, time, foreign) in TPCH.items():
        words = [f"key={words_of(key)}"] * bool(key) + [f"time={time}"] * bool(time)
        words += [f"{words_of(columns)}->{target}" for columns, target in foreign]
        options += ["--table", f"{name}={folder}/{name}.parquet:{','.join(words)}"]
    return options


def ingest(options, out, budget):
    """(wall seconds, processor seconds, summary) of an ingest in a cgroup of a quarter more than the budget."""
    command = [PLIMSOLL, "ingest", "tables", *options, "--out", out, "--force", "--budget", f"{budget}MiB", "--json"]
    try:
        group = MemoryCgroup((budget + max(16, budget // 4)) * MIB)
    except OSError as error:
        sys.exit(f"bench/tables: no memory cgroup of our own here: {error}")
    with group:
        wall, cpu, output = timed(command, preexec_fn=group.join)
        if group.kills():
            sys.exit("bench/tables: killed for memory")
    return wall, cpu, json.loads(output)


def require_same_lists(graph, peer):
    """The sources of all lists, as pandas and NumPy order them."""
    for name, (_, _, foreign) in TPCH.items():
        for columns, target in foreign:
            column = "+".join(columns)
            ours = np.load(graph / f"{name}.f2p_{column.replace('+', '%2B')}.{target}.indices.npy")
            if not np.array_equal(ours, np.load(peer / f"{name}.{column}.npy")):
                sys.exit(f"bench/tables: lists of {name}.{column} differ")


def tpch(folder, scale):
    tables = folder / "tables"
    timed([Path(PYTHON).with_name("tpchgen-cli"), "parquet", "-s", scale, f"--output-dir={tables}"])
    spec = json.dumps({name: dict(zip(("key", "time", "foreign_keys"), about)) for name, about in TPCH.items()})
    options, state, results = table_options(tables), machine(), {}

    def run(budget):
        results[budget] = ingest(options, folder / f"graph-{budget}", budget)
        return results[budget]

    def run_peer():
        results["peer"] = timed_peer([ROOT / "bench" / "peers" / "pandas_tables.py", tables, spec, folder / "peer"])
        return results["peer"]

    times = rounds({"plimsoll ingest, 256 MiB": lambda: run(256), "plimsoll ingest, 64 MiB": lambda: run(64),
                    "pyarrow, pandas and NumPy": run_peer}, 2)
    if filecmp.dircmp(folder / "graph-256", folder / "graph-64").diff_files:
        sys.exit("bench/tables: other bytes for another budget")
    require_same_lists(folder / "graph-256", folder / "peer")
    rows = results[256][2]["rows_read"]
    peaks = {budget: results[budget][2]["memory"]["anonymous_peak_bytes"] / MIB for budget in (256, 64)}
    write_section(f"TPC-H at scale {scale}", f"""
Command: `bench/tables.sh`; {state}

Eight tables of `tpchgen-cli`, {rows:,} rows, {results[256][2]["edges"]:,} edges, in a cgroup a quarter larger than the budget. The same bytes for both
budgets, and the same lists as the peer (`bench/peers/pandas_tables.py`), which keeps all in memory and syncs nothing; its start and imports are not counted.
Peaks of anonymous memory: {peaks[256]:.0f} MiB, {peaks[64]:.0f} MiB, and {results["peer"][2]["peak"] / MIB:,.0f} MiB of the peer (resident).

{table(times, rows, "rows")}
""", RESULTS)


def flights(folder):
    if not FLIGHTS.is_dir():
        return
    state, results = machine(), {}

    def run():
        results["last"] = ingest([FLIGHTS], folder / "flights", 48)
        return results["last"]

    times = rounds({"plimsoll ingest, 48 MiB": run}, 5)
    summary = results["last"][2]
    write_section("Flights of 2013", f"""
Command: `bench/tables.sh`; {state}

Five tables of `relational-nycflights13`, 6 MB, in a cgroup of 64 MiB; {summary["edges"]:,} edges, peak of anonymous memory
{summary["memory"]["anonymous_peak_bytes"] / MIB:.0f} MiB.

{table(times, summary["rows_read"], "rows")}
""", RESULTS)


def main():
    scale = os.environ.get("BENCH_TPCH", "1")
    with scratch(float(scale)) as folder:
        flights(folder)
        tpch(folder, scale)
        shutil.rmtree(folder / "tables")


if __name__ == "__main__":
    main()
