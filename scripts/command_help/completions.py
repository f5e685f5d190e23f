"""Makes completions for bash, zsh and fish from the help texts of `plimsoll`: verbs, options, fixed values, and
files.
"""

import re

from command_help.help_texts import all_verbs

ORIGIN = "scripts/command-pages wrote this file from the help of plimsoll."
PATH = re.compile(r"(FILE|DIR|PATH|MODEL|CAPTURE|FRAMES|RECIPE)\b")


def takes_path(option):
    return bool(PATH.match(option.value))


def first_words(verb):
    """Fixed values of the first positional, such as `kdgat` in `import kdgat`."""
    return verb.positionals[0].words if verb.positionals else []


def groups(program):
    return [verb for verb in program.verbs if verb.verbs]


def last_words(verbs):
    return [verb.words.split()[-1] for verb in verbs]


def quoted(text):
    return "'" + text.replace("'", "'\\''") + "'"


BASH = """# {origin} Read it with `source`, or put it into
# ~/.local/share/bash-completion/completions under the name plimsoll.
_plimsoll() {{
  local word=${{COMP_WORDS[COMP_CWORD]}} before=${{COMP_WORDS[COMP_CWORD - 1]}} verb="" choices="" files=""
  ((COMP_CWORD > 1)) && verb=${{COMP_WORDS[1]}}
  case $verb in {groups}) ((COMP_CWORD > 2)) && verb+=" ${{COMP_WORDS[2]}}" ;; esac
  COMPREPLY=()
  case "$verb $before" in
{values}
    *) case $verb in
      "") choices={verbs} ;;
{options}
    esac ;;
  esac
  if [[ $files ]]; then
    compopt -o filenames 2>/dev/null
    mapfile -t COMPREPLY < <(compgen -f -- "$word")
  else
    mapfile -t COMPREPLY < <(compgen -W "$choices" -- "$word")
  fi
}}
complete -F _plimsoll plimsoll
"""


def bash(program):
    values = [f"    {quoted(f'{verb.words} {verb.words}')}) choices={quoted(' '.join(first_words(verb)))} ;;"
              for verb in program.verbs if first_words(verb)]
    options = [f"      {verb.words}) choices={quoted(' '.join(last_words(verb.verbs)))} ;;" for verb in groups(program)]
    for verb in all_verbs(program):
        for option in filter(lambda option: option.value or option.words, verb.options):
            pattern = "|".join(quoted(f"{verb.words} {name}") for name in option.names)
            does = f"choices={quoted(' '.join(option.words))}" if option.words else "files=yes" if takes_path(option) else "return"
            values.append(f"    {pattern}) {does} ;;")
        names = " ".join(name for option in verb.options for name in option.names)
        options.append(f"      {quoted(verb.words)}) if [[ $word == -* ]]; then choices={quoted(names)}; else files=yes; fi ;;")
    return BASH.format(origin=ORIGIN, groups="|".join(last_words(groups(program))), values="\n".join(values),
                       verbs=quoted(" ".join(last_words(program.verbs))), options="\n".join(options))


def zsh_function(name):
    return "_" + "_".join(["plimsoll", *name.split()]).replace("-", "_")


def zsh_option(option, name):
    """A specification of _arguments; brackets and colons end its parts."""
    text = re.sub(r"([\[\]:\\])", r"\\\1", option.text)
    values = f":{option.name.strip('-')}:" + (f"({' '.join(option.words)})" if option.words else "_files" if takes_path(option) else "")
    return quoted(f"{'*' * option.many}{name}[{text}]" + values * bool(option.value or option.words))


def zsh_leaf(verb):
    words = [quoted(f"1:word:({' '.join(first_words(verb))})")] if first_words(verb) else []
    options = [zsh_option(option, name) for option in verb.options for name in option.names]
    return [f"{zsh_function(verb.words)}() {{", "  _arguments -s \\", *(f"    {o} \\" for o in options + words), "    '*:file:_files'", "}"]


def zsh_group(verb):
    """A function that completes a verb below `verb`, then calls the function of that verb."""
    verbs = [quoted(f"{name}:{below.about.replace(':', chr(92) + ':')}") for name, below in zip(last_words(verb.verbs), verb.verbs)]
    calls = [f"      {name}) {zsh_function(below.words)} ;;" for name, below in zip(last_words(verb.verbs), verb.verbs)]
    return [f"{zsh_function(verb.words)}() {{", "  local state line", "  typeset -A opt_args", "  local -a verbs=(", *(f"    {v}" for v in verbs), "  )",
            "  _arguments -C '1:verb:->verb' '*::argument:->rest'", "  case $state in", "    verb) _describe verb verbs ;;",
            "    rest) case $words[1] in", *calls, "    esac ;;", "  esac", "}"]


def zsh(program):
    functions = [line for verb in all_verbs(program) for line in zsh_leaf(verb)]
    functions += [line for verb in [*groups(program), program] for line in zsh_group(verb)]
    return "\n".join(["#compdef plimsoll", f"# {ORIGIN}", *functions, '_plimsoll "$@"', ""])


FISH = """# {origin}
# Whether the words before the cursor start with a verb.
function __plimsoll_in
    set -l words (commandline -opc)
    set -l count (math (count $argv) + 1)
    test (count $words) -ge $count; and test "$words[2..$count]" = "$argv"
end
# Whether the words before the cursor are only these.
function __plimsoll_after
    set -l words (commandline -opc)
    test "$words[2..-1]" = "$argv"
end
complete -c plimsoll -f
"""


def fish_option(verb, option):
    names = " ".join(f"-{'l' if name.startswith('--') else 's'} {name.strip('-')}" for name in option.names)
    value = f" -x -a {quoted(' '.join(option.words))}" if option.words else " -r -F" if takes_path(option) else " -x" * bool(option.value)
    return f"complete -c plimsoll -n '__plimsoll_in {verb.words}' {names}{value} -d {quoted(option.text)}"


def fish(program):
    lines = [FISH.format(origin=ORIGIN)]
    for verb in [program, *groups(program)]:
        lines += [f"complete -c plimsoll -n '__plimsoll_after {verb.words}' -a {name} -d {quoted(below.about)}"
                  for name, below in zip(last_words(verb.verbs), verb.verbs)]
    for verb in all_verbs(program):
        if first_words(verb):
            lines.append(f"complete -c plimsoll -n '__plimsoll_after {verb.words}' -a {quoted(' '.join(first_words(verb)))}")
        lines.append(f"complete -c plimsoll -n '__plimsoll_in {verb.words}' -F")
        lines += [fish_option(verb, option) for option in verb.options]
    return "\n".join([*lines, ""])


def write(program, folder):
    (folder / "plimsoll.bash").write_text(bash(program))
    (folder / "_plimsoll").write_text(zsh(program))
    (folder / "plimsoll.fish").write_text(fish(program))
