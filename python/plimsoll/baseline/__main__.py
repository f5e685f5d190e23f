"""Runs `python -m plimsoll.baseline RUN --data DIR`, which `plimsoll evaluate --baseline` starts."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from plimsoll.errors import Error


def main(arguments: list[str]) -> int:
    """Trains the baseline of a run, and returns the exit code."""
    parser = argparse.ArgumentParser("plimsoll evaluate --baseline")
    parser.add_argument("run", type=Path, metavar="RUN", help="the folder of a run of the task `relational`")
    parser.add_argument("--data", type=Path, required=True, metavar="DIR", help="the data set of the run")
    parser.add_argument("--threads", type=int, default=1, metavar="INT", help="threads of LightGBM")
    options = parser.parse_args(arguments)
    try:
        from plimsoll.baseline.trees import train_baseline

        train_baseline(options.run, options.data, threads=options.threads)
    except Error as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        return error.exit_code
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
