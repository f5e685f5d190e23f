"""Runs `python -m plimsoll`: a rank of a run (docs/ranks.md), a verb written in Python, or the package's `plimsoll`
program.
"""

import os
import sys
from pathlib import Path


def choose_trainer() -> None:
    """Sets `PLIMSOLL_TRAINER` to the plimsoll-train built for the installed torch.

    Without one, sets `PLIMSOLL_NO_TRAINER` to the message that the program then prints.
    """
    from importlib.metadata import PackageNotFoundError, version
    from importlib.util import find_spec

    from plimsoll import _operators
    from plimsoll.errors import MissingPackage

    try:
        trainer = _operators.folder_of(version("torch")) / "plimsoll-train"
    except PackageNotFoundError:
        os.environ["PLIMSOLL_NO_TRAINER"] = f"{sys.argv[1]} needs torch; install it: pip install torch"
    except MissingPackage as error:
        os.environ["PLIMSOLL_NO_TRAINER"] = str(error)
    else:
        os.environ.setdefault("PLIMSOLL_TRAINER", str(trainer))
        torch = find_spec("torch")
        if torch is not None and torch.origin is not None:
            # torch may be in a different site-packages folder from plimsoll.
            libraries = [str(Path(torch.origin).parent / "lib"), os.environ.get("LD_LIBRARY_PATH", "")]
            os.environ["LD_LIBRARY_PATH"] = ":".join(filter(None, libraries))


def main() -> None:
    """Runs the command line in `sys.argv` and ends the process."""
    from plimsoll.jobs import commands, ranks

    arguments = sys.argv[1:]
    if commands.is_ours(arguments):
        commands.main(arguments)
    os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)
    script = Path(sys.executable).with_name("plimsoll")
    if script.exists():
        os.environ.setdefault("PLIMSOLL_PROGRAM", str(script))  # Jobs start it, so that they choose the trainer as well.
    if arguments and not arguments[0].startswith("-"):
        choose_trainer()  # Other verbs may start `train`.
    ranks.take(arguments)
    program = Path(__file__).parent / "bin" / "plimsoll"
    os.execv(program, ["plimsoll", *arguments])


if __name__ == "__main__":
    main()
