"""`python -m plimsoll`: becomes the program that the package carries, but for verbs that need torch's own files."""

import os
import sys
from pathlib import Path


def main() -> None:
    from plimsoll import commands

    if commands.is_ours(sys.argv[1:]):
        commands.main(sys.argv[1:])
    os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)
    program = Path(__file__).parent / "bin" / "plimsoll"
    os.execv(program, ["plimsoll", *sys.argv[1:]])


if __name__ == "__main__":
    main()
