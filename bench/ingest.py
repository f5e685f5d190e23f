"""What bench/ingest.sh says. BENCH_GB: gigabytes of text (1); BENCH_ROUNDS: runs of each case (5); DATA: captures."""

import os
import shutil
import subprocess
import textwrap
from pathlib import Path

import numpy as np

from made_captures import one_capture, scratch, simulate
from report import PLIMSOLL, ROOT, machine, rounds, table, timed, timed_peer, write_section

GIGABYTES = float(os.environ.get("BENCH_GB", "1"))
ROUNDS = int(os.environ.get("BENCH_ROUNDS", "5"))
DATA = Path(os.environ.get("DATA", ROOT.parent / "shared" / "data" / "can" / "hcrl_sa"))
CAPTURES = [DATA / "train_02_with_attacks" / name for name in ("DoS-kia.csv.zst", "fuzzing-sonata.csv.zst")]
PEERS = ROOT / "bench" / "peers"


def prose(text):
    return textwrap.fill(" ".join(text.split()), 120)


def fresh(folder):
    shutil.rmtree(folder, ignore_errors=True)
    return folder


def ingest(source, out, threads=2, **options):
    return timed([PLIMSOLL, "ingest", "can", source, "--out", fresh(out), "--threads", threads], **options)


def without_sync(folder):
    """The environment in which a program's syncs do nothing."""
    library = folder / "no_sync.so"
    subprocess.run(["cc", "-O2", "-shared", "-fPIC", "-w", "-o", library, ROOT / "bench" / "no_sync.c"], check=True)
    return {**os.environ, "LD_PRELOAD": str(library)}


def peer(library, csv, out=None):
    command = [PEERS / "csv_columns.py", library, csv]
    if out is not None:
        fresh(out).mkdir()
        command.append(out)
    return timed_peer(command)


def require_same_columns(frames, others):
    for name in ("time_ns", "can_id", "length", "data", "label"):
        ours = np.load(frames / f"{name}.npy", mmap_mode="r")
        for other in others:
            theirs = np.load(other / f"{name}.npy", mmap_mode="r")
            if ours.dtype != theirs.dtype or not np.array_equal(ours, theirs):
                raise SystemExit(f"bench/ingest: column {name} of {other.name} is not that of plimsoll")


def in_page_cache(path):
    with open(path, "rb") as file:
        while file.read(1 << 20):
            pass


def plain(folder, csv, no_sync, state):
    frames, polars, pyarrow = folder / "frames", folder / "polars", folder / "pyarrow"
    in_page_cache(csv)
    times = rounds({
        "plimsoll ingest, sync left out": lambda: ingest(csv, frames, env=no_sync),
        "plimsoll ingest": lambda: ingest(csv, frames),
        "polars to `.npy`": lambda: peer("polars", csv, polars),
        "pyarrow to `.npy`": lambda: peer("pyarrow", csv, pyarrow),
        "polars, read alone": lambda: peer("polars", csv),
        "pyarrow, read alone": lambda: peer("pyarrow", csv),
    }, ROUNDS)
    require_same_columns(frames, [polars, pyarrow])
    megabytes = csv.stat().st_size / 1e6
    for out in (polars, pyarrow):
        shutil.rmtree(out)
    about = prose(f"""{megabytes:,.0f} MB of simulated four-column CSV in the page cache, {ROUNDS} interleaved
        rounds, two threads each. All three write equal columns. The peers (`bench/peers/csv_columns.py`) sync nothing,
        and their start and imports are not counted; of plimsoll the whole process is.""")
    write_section("Plain CSV to columns", f"{state}\n\n{about}\n\n{table(times, megabytes, 'MB')}")
    return megabytes


def zstd(folder, csv, no_sync, megabytes, state):
    packed = csv.with_suffix(".csv.zst")
    subprocess.run(["zstd", "-q", "-3", "-f", csv, "-o", packed], check=True)
    csv.unlink()
    frames = folder / "frames"
    in_page_cache(packed)
    times = rounds({
        "plimsoll ingest, sync left out": lambda: ingest(packed, frames, env=no_sync),
        "plimsoll ingest": lambda: ingest(packed, frames),
        "`zstd -dc` to /dev/null": lambda: timed(["zstd", "-q", "-dc", packed, "-o", "/dev/null", "-f"]),
    }, ROUNDS)
    about = prose(f"""The same text compressed with `zstd -3`: {packed.stat().st_size / 1e6:,.0f} MB. Rates are of text. `zstd`
        decompresses on one thread and parses nothing.""")
    write_section("CSV in zstd", f"{state}\n\n{about}\n\n{table(times, megabytes, 'MB')}")


def compare_graphs(graph_set, peers):
    """What is to be said of the pandas graphs beside those on disk."""
    theirs = np.load(peers)
    ours = {name: np.load(graph_set / f"{name}.npy", mmap_mode="r") for name in theirs.files}
    for name in ("y", "edges"):
        if not np.array_equal(ours[name], theirs[name]):
            raise SystemExit(f"bench/ingest: {name} of the pandas graphs is not that of plimsoll")
    for name in ("x", "edge_attr"):
        if not np.allclose(ours[name], theirs[name], rtol=1e-6, atol=1e-6):
            raise SystemExit(f"bench/ingest: {name} of the pandas graphs is not that of plimsoll")
    return f"{ours['y'].size:,} graphs on both sides: labels and edges equal, features within 1e-6"


def graphs(folder, state):
    captures = [path for path in CAPTURES if path.exists()]
    source = f"{' and '.join(path.name for path in captures)} of hcrl_sa"
    if not captures:
        captures = sorted(simulate(folder / "made", 0.02).glob("train_02*/*.csv"))[:2]
        source = f"{len(captures)} simulated ones: DATA names none of hcrl_sa"
    frames, graph_set, peers = folder / "frames", folder / "graphs", folder / "pandas.npz"

    def plimsoll():
        first = timed([PLIMSOLL, "ingest", "can", *captures, "--out", fresh(frames), "--threads", 1])
        then = timed([PLIMSOLL, "windows", frames, "--out", fresh(graph_set), "--features", "compat", "--threads", 1])
        return first[0] + then[0], first[1] + then[1]

    times = rounds({
        "plimsoll ingest, then windows": plimsoll,
        "pandas": lambda: timed_peer([PEERS / "pandas_graphs.py", peers, *captures]),
    }, ROUNDS)
    verdict = compare_graphs(graph_set, peers)
    count = np.load(graph_set / "y.npy", mmap_mode="r").size
    about = prose(f"""From captures ({source}) to graphs, one thread each: to a graph set on disk with plimsoll,
        synced, and to arrays in memory with the published way of pandas (`bench/peers/pandas_graphs.py`). {verdict}.""")
    write_section("Captures to window graphs", f"{state}\n\n{about}\n\n{table(times, count, 'graphs')}")


def main():
    state = f"Command: `bench/ingest.sh`; {machine()}"
    with scratch(4 * GIGABYTES + 0.5) as folder:
        no_sync = without_sync(folder)
        csv = one_capture(folder, GIGABYTES)
        megabytes = plain(folder, csv, no_sync, state)
        zstd(folder, csv, no_sync, megabytes, state)
        graphs(folder, state)


if __name__ == "__main__":
    main()
