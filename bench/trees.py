#!/usr/bin/env python3
"""How fast `plimsoll ingest swc` reads neurons, beside MorphIO.

    bench/trees.py [DATA] [--rounds 3] [--results FILE]

DATA (default ../shared/data) has tree-neuron-ratcortex and tree-neuron-drosophila379. Archives are unpacked to a folder
first; Plimsoll makes a graph set of it, on one thread, with hashes of the files and of what it writes; MorphIO reads each
file and does nothing else. Prints CPU seconds, best and median of interleaved rounds, and MB of text a second.
"""

import argparse
import io
import json
import resource
import statistics
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

import report

READ_BY_MORPHIO = """
import sys, time, pathlib, morphio
morphio.set_maximum_warnings(0)
refused = 0
files = sorted(pathlib.Path(sys.argv[1]).rglob("*.swc"))
began = time.process_time()
for file in files:
    try:
        morphio.Morphology(str(file)).points
    except morphio.MorphioError:
        refused += 1
print(time.process_time() - began, refused)
"""


def unpack(archive, folder):
    import zstandard

    with zstandard.open(archive) as stream, tarfile.open(fileobj=io.BytesIO(stream.read())) as members:
        members.extractall(folder, filter="data")
    return sum(file.stat().st_size for file in folder.rglob("*.swc"))


def ours(folder, out):
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    command = [report.PLIMSOLL, "ingest", "swc", folder, "--out", out, "--force", "--json"]
    done = subprocess.run(list(map(str, command)), check=True, stdout=subprocess.PIPE, text=True)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    seconds = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return seconds, json.loads(done.stdout)


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("data", type=Path, nargs="?", default=report.ROOT.parent / "shared" / "data")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--results", type=Path)
    given = parser.parse_args()
    rows = []
    with tempfile.TemporaryDirectory() as scratch:
        for name in ("tree-neuron-ratcortex", "tree-neuron-drosophila379"):
            folder = Path(scratch) / name
            size = unpack(given.data / name / "swc.tar.zst", folder)
            seconds = {"plimsoll ingest swc": [], "morphio": []}
            for _ in range(given.rounds):
                taken, summary = ours(folder, Path(scratch) / "set")
                seconds["plimsoll ingest swc"].append(taken)
                done = subprocess.run([sys.executable, "-c", READ_BY_MORPHIO, folder], check=True, stdout=subprocess.PIPE, text=True)
                taken, refused = done.stdout.split()
                seconds["morphio"].append(float(taken))
            best = min(seconds["plimsoll ingest swc"])
            for by, found in seconds.items():
                peak = f"{summary['memory']['ledger_peak_bytes'] / 1e6:.1f}" if by != "morphio" else ""
                files = refused if by == "morphio" else summary["skipped_files"]
                rows.append(f"| {name} | {size / 1e6:.1f} | {by} | {min(found):.3f} / {statistics.median(found):.3f} "
                            f"| {min(found) / best:.2f} | {size / 1e6 / min(found):.0f} | {files} | {peak} |")
    text = "\n".join([report.machine(), "", "| files | MB | by | CPU s, best / median | x ours | MB/s | files refused | ledger's peak MB |",
                      "|---|---|---|---|---|---|---|---|", *rows])
    if given.results:
        report.write_section("Reading SWC files", text, given.results)
    else:
        print(text)


if __name__ == "__main__":
    main()
