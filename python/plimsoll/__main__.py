"""`python -m plimsoll`: a rank of a run (docs/ranks.md), a verb that needs torch's own files, or the program of the package."""

import os
import sys
from pathlib import Path


def main() -> None:
    from plimsoll import commands

    arguments = sys.argv[1:]
    if commands.is_ours(arguments):
        commands.main(arguments)
    os.environ.setdefault("PLIMSOLL_PYTHON", sys.executable)
    if arguments[:1] in (["train"], ["plan"]):
        _work_in_ranks(arguments)
    program = Path(__file__).parent / "bin" / "plimsoll"
    os.execv(program, ["plimsoll", *arguments])


def _work_in_ranks(arguments: list[str]) -> None:
    """Ends the process where there is more than one rank."""
    from plimsoll import _ranks
    from plimsoll.errors import Error

    ranks = _ranks.ranks_asked(arguments)
    try:
        if arguments[0] == "plan":
            if ranks > 1:
                sys.exit(_ranks.plan(["plimsoll", *arguments]))
        elif where := _ranks.place():
            sys.exit(_ranks.run(["plimsoll", *arguments], where))
        elif ranks > 1:
            sys.exit(_ranks.launch(ranks, arguments))
    except Error as error:
        sys.exit(_ranks.told(error))


if __name__ == "__main__":
    main()
