"""`python -m plimsoll`: becomes the program that the package carries."""

import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).parent / "bin" / "plimsoll"
    os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)  # for `plimsoll sync`
    os.execv(program, ["plimsoll", *sys.argv[1:]])


if __name__ == "__main__":
    main()
