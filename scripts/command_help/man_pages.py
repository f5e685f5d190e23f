"""Man pages from the help texts of `plimsoll`."""

import re
import subprocess

from command_help.help_texts import PROGRAM, all_verbs, argument_name


def troff(text):
    """Text with everything escaped that troff would read as a request, an escape or a typographic sign."""
    escaped = text.replace("\\", "\\e").replace("-", "\\-").replace("'", "\\(aq").replace("`", "\\(ga")
    return re.sub(r"^\.", r"\\&.", escaped)


def man_entry(option):
    names = ", ".join(f"\\fB{troff(name)}\\fR" for name in option.names) if option.name.startswith("-") else troff(argument_name(option))
    value = f" \\fI{troff(option.placeholder())}\\fR" if option.name.startswith("-") and option.value else ""
    return [".TP", names + value, troff(option.sentence())]


def man_page(verb, version):
    name = "-".join(["plimsoll", *verb.words.split()])
    lines = [f'.TH {name.upper()} 1 "" "{version}" "User Commands"', ".SH NAME", f"{troff(name)} \\- {troff(verb.about)}",
             ".SH SYNOPSIS", troff(verb.synopsis())]
    if verb.verbs:
        lines += [".SH VERBS"]
        for below in verb.verbs:
            lines += [".TP", f"\\fB{troff(below.words.split()[-1])}\\fR", troff(below.about)]
    lines += [".SH OPTIONS"]
    described = [o for o in verb.positionals + verb.options if o.sentence()]
    for group in dict.fromkeys(o.group for o in described):
        lines += [f".SS {troff(group)}"] if group else []
        lines += [line for o in described if o.group == group for line in man_entry(o)]
    if verb.examples:
        lines += [".SH EXAMPLES", ".nf", *map(troff, verb.examples), ".fi"]
    others = [f"plimsoll\\-{below.words.replace(' ', '-')}" for below in verb.verbs] if verb.verbs else ["plimsoll"]
    return name, "\n".join([*lines, ".SH SEE ALSO", ", ".join(f"\\fB{o}\\fR(1)" for o in others), ""])


def write(program, folder):
    version = subprocess.run([PROGRAM, "--version"], capture_output=True, text=True, check=True).stdout.strip()
    for verb in [program, *(v for v in program.verbs if v.verbs), *all_verbs(program)]:
        name, text = man_page(verb, version)
        (folder / f"{name}.1").write_text(text)
