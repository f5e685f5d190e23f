"""`python -m plimsoll`: a rank of a run (docs/ranks.md), a verb that needs torch's own files, or the program of the package."""

import os
import sys
from pathlib import Path


def main() -> None:
    from plimsoll import _ranks, commands

    arguments = sys.argv[1:]
    if commands.is_ours(arguments):
        commands.main(arguments)
    os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)
    _ranks.take(arguments)
    program = Path(__file__).parent / "bin" / "plimsoll"
    os.execv(program, ["plimsoll", *arguments])


if __name__ == "__main__":
    main()
