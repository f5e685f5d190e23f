"""Reads verbs and options of `plimsoll` from its help texts: those of CLI11, and those of argparse for verbs in
Python.
"""

import itertools
import os
import re
import subprocess
import sys
from dataclasses import dataclass, field
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = Path(os.environ.get("PLIMSOLL_BIN", ROOT / "build" / "release" / "bin")) / "plimsoll"
NUMBERS = {"INT": "N", "UINT": "N", "FLOAT": "X"}
SHORT = 24  # maximum characters of fixed values that are shown in place of a value's name


@dataclass
class Option:
    """An option or a positional of a verb; positionals have a name without dashes."""

    names: list[str]
    text: str
    value: str = ""  # name of the value; empty for a flag
    words: list[str] = field(default_factory=list)  # all values that are accepted, if these are fixed words
    limits: str = ""
    default: str = ""
    many: bool = False
    required: bool = False
    needs: list[str] = field(default_factory=list)
    excludes: list[str] = field(default_factory=list)
    group: str = ""  # title of a separate table for this option

    @property
    def name(self):
        return self.names[-1]

    def placeholder(self):
        """How a value is shown: `N`, `DIR`, `auto|full`, `FILE...`."""
        name = "|".join(self.words)
        if not name or len(name) > SHORT:
            name = NUMBERS.get(self.value, self.value)
        return name + "..." * self.many if name else ""

    def details(self):
        """The details that the help has in addition to the description, as phrases."""
        limits = re.sub(r"^\w+ in \[(.*) - (.*)\]$", r"\1 to \2", self.limits)
        unsaid = len("|".join(self.words)) > SHORT and not all(word in self.text for word in self.words)
        yield from filter(None, [
            "required" * (self.required and self.name.startswith("-")), f"one of {', '.join(self.words)}" * unsaid, limits,
            f"default: {self.default.strip('[]')}" * bool(self.default)])
        for phrase, others in (("only with", self.needs), ("not with", self.excludes)):
            if others:
                yield f"{phrase} {', '.join(others)}"

    def sentence(self):
        """The description with all details."""
        details = "; ".join(self.details())
        return f"{self.text} ({details})" if self.text and details else self.text or details.capitalize()


@dataclass
class Verb:
    words: str  # such as `ingest can`; empty for the program
    about: str = ""
    positionals: list[Option] = field(default_factory=list)
    options: list[Option] = field(default_factory=list)
    examples: list[str] = field(default_factory=list)
    verbs: list["Verb"] = field(default_factory=list)

    def synopsis(self):
        required = [f"{option.name} {option.placeholder()}" for option in self.options if option.required]
        optional = len(self.options) > len(required) + 1 and not self.verbs  # all have --help
        names = ["VERB ..."] if self.verbs else [argument_name(option) for option in self.positionals]
        return " ".join(filter(None, ["plimsoll", self.words, *names, *required, "[OPTION]..." * optional]))


def argument_name(option):
    """How a positional is shown: a fixed value as itself, a name in capitals, in brackets if it is optional."""
    name = option.words[0] if len(option.words) == 1 else option.name.upper() + "..." * option.many
    return name if option.required else f"[{name}]"


def ask(words):
    """The help of a verb. The help of Python verbs is not wrapped."""
    python_path = os.pathsep.join(filter(None, [str(ROOT / "python"), os.environ.get("PYTHONPATH")]))
    environment = {**os.environ, "COLUMNS": "1000", "PLIMSOLL_PYTHON": sys.executable, "PYTHONPATH": python_path}
    done = subprocess.run([PROGRAM, *words.split(), "--help"], capture_output=True, text=True, env=environment)
    if done.returncode != 0:
        sys.exit(f"command-pages: plimsoll {words} --help: exit code {done.returncode}: {done.stderr.strip()}")
    return done.stdout


def entries(text):
    """Section, group, name with its details, and description of each entry of a help text."""
    section, group, lines = "", "", text.splitlines()
    for i, line in enumerate(lines):
        if re.fullmatch(r"\[Option Group: .*\]", line):
            section, group = "", lines[i + 1].strip()
        elif found := re.fullmatch(r"\s*(positionals|positional arguments|options|subcommands):", line, re.I):
            section = found[1].lower().replace(" arguments", "s")
        elif not line.strip():
            section = ""
        elif section and not is_continuation(line):
            more = itertools.takewhile(is_continuation, lines[i + 1:])
            yield section, group, *split_entry(re.sub(r", +--", ",--", line.strip()), " ".join(map(str.strip, more)))


def is_continuation(line):
    return len(line) - len(line.lstrip()) >= 20


def split_entry(line, more):
    """The name and the description of an entry; `more` is the lines after it."""
    if parts := re.fullmatch(r"(.*?)  +(.*)", line):
        return parts[1], f"{parts[2]} {more}".strip()
    # A name of 27 characters has one blank after it; a longer one has its description below.
    return (line, more) if more or line[27:28] != " " else (line[:27], line[28:])


def option_of_cli11(name, text):
    """An option from `-O,--override TEXT:{a,b}=a ... REQUIRED Needs: --b Excludes: --c`."""
    names, _, specification = name.partition(" ")
    parts = re.fullmatch(r"(.*?)( \.\.\.)?( REQUIRED)?(?: ?Needs: (.*?))?(?: ?Excludes: (.*))?", specification)
    value, limits, default = re.fullmatch(r"([^:={]*)(?::(\{.*?\}|[^=]*))?(?:=(.*))?", parts[1]).groups(default="")
    if re.fullmatch(r"[A-Z]+=[A-Z]+|[a-z.]+=[a-z]+", parts[1]):  # a pair, not a default
        value, default = parts[1], ""
    words = limits[1:-1].split(",") if limits.startswith("{") else []
    return Option(names.split(","), text, value.removesuffix("...").removesuffix(",..."), words, "" if words else limits,
                  default, bool(parts[2]), bool(parts[3]), sorted((parts[4] or "").split()), sorted((parts[5] or "").split()))


def option_of_argparse(name, text, usage):
    """An option of a Python verb; `usage` shows optional ones in brackets."""
    names, value = re.fullmatch(r"((?:-[\w-]+,?)+|[^\s{]*) ?(.*)", name).groups()
    words = value[1:-1].split(",") if value.startswith("{") else []
    first = names.split(",")[0] or value
    return Option(names.split(",") if names else ["word"], text, value, words, required=f"[{first}" not in usage)


def read_verb(words):
    """A verb and all verbs below it, according to their help."""
    text = ask(words)
    is_python = text.startswith("usage:")
    about = "" if is_python else text.partition("\n")[0]
    verb = Verb(words, about.removesuffix("."), examples=re.findall(r"^(?:Examples?: | {10})(plimsoll .*)$", text, re.M))
    for section, group, name, description in entries(text):
        if section == "subcommands":
            verb.verbs.append(read_verb(f"{words} {name}".strip()))
            verb.verbs[-1].about = description
            continue
        option = option_of_argparse(name, description, text.partition("\n")[0]) if is_python else option_of_cli11(name, description)
        option.group = group
        (verb.options if section == "options" else verb.positionals).append(option)
    return verb


def all_verbs(verb):
    """The verbs that can be run, without those that only group other verbs."""
    return [leaf for below in verb.verbs for leaf in all_verbs(below)] if verb.verbs else [verb]
