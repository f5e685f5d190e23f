"""docs/from-kdgat.md: each row of its tables of keys, commands and techniques is tried against the program."""

import importlib
import re
import shlex
import subprocess
import sys

import pytest
from conftest import REPOSITORY

PAGE = REPOSITORY / "docs" / "from-kdgat.md"
ACCEPTED = "accepted"


def rows(heading):
    """The rows of the tables below a heading: what stands there, and what to write here."""
    section = PAGE.read_text().split(f"\n## {heading}\n")[1].split("\n## ")[0]
    table = [line.strip("|").split(" | ") for line in section.splitlines() if line.startswith("| `")]
    return [(cells[0].strip().strip("`"), cells[1].strip()) for cells in table]


def plain(text):
    """Without what Markdown adds: quotes of code, links."""
    return re.sub(r"\[([^]]*)\]\([^)]*\)", r"\1", text).replace("`", "").replace("\\|", "|")


@pytest.fixture
def answer(bin_dir, tmp_path):
    """answer(recipe, arguments): the exit code and stderr of the program, without data."""

    def ask(recipe, *arguments):
        (tmp_path / "recipe.yaml").write_text(recipe)
        words = [str(tmp_path / word) if word in ("recipe.yaml", "absent", "run") else word for word in arguments]
        done = subprocess.run([bin_dir / "plimsoll", *words], capture_output=True, text=True, timeout=60)
        return done.returncode, done.stderr

    return ask


def as_yaml(setting):
    """`a.b: c` as the nested text that a recipe has."""
    key, value = setting.split(": ", 1)
    *sections, last = key.split(".")
    return "".join(f"{'  ' * i}{name}:\n" for i, name in enumerate(sections)) + f"{'  ' * len(sections)}{last}: {value}\n"


# Of a recipe whose keys are all accepted this value is what is refused, as it is looked at last.
WRONG = ("-O", "gnn.dropout=x")


def expect(code, error, here):
    expected = "gnn.dropout is 'x'" if here.startswith(ACCEPTED) else plain(here)
    assert code == 2 and expected in plain(error), error


@pytest.mark.parametrize("setting, here", rows("Keys"))
def test_a_key_is_accepted_or_answered_as_the_page_says(answer, setting, here):
    plan = ("plan", "recipe.yaml", "--data", "absent", *WRONG)
    expect(*answer(as_yaml(setting), *plan), here)
    key, value = setting.split(": ", 1)
    expect(*answer("", *plan, "-O", f"{key}={value}"), here)
    expect(*answer("", *plan, "-O", key, value), here)


@pytest.mark.parametrize("command, here", rows("Commands"))
def test_a_command_is_accepted_or_answered_as_the_page_says(answer, command, here):
    words = shlex.split(command)
    if words[0] == "plimsoll":
        expect(*answer("", *words[1:]), here)
    else:
        expect(*answer("", "train", "recipe.yaml", "--data", "absent", "--run", "run", *WRONG, *words), here)


def techniques():
    """Rows of the table of techniques: the whole text of both cells."""
    section = PAGE.read_text().split("\n## Techniques, tools and questions\n")[1].split("\n## ")[0]
    rows = [line.strip("| ").split(" | ", 1) for line in section.splitlines()[4:] if line.startswith("| ")]
    assert len(rows) > 40
    return rows


def named(pattern):
    """Code spans of the right-hand cells that match the pattern, each once."""
    spans = {span for _, here in techniques() for span in re.findall(r"`([^`]+)`", here)}
    found = sorted(span for span in spans if re.match(pattern, span))
    assert found
    return found


VERBS = ("train", "evaluate", "predict", "plan", "detect")


@pytest.mark.parametrize("command", named(rf"plimsoll |--|(?:{'|'.join(VERBS)})\b"))
def test_a_verb_and_its_options_exist(bin_dir, monkeypatch, command):
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    words = shlex.split(command.removeprefix("plimsoll "))
    verbs = [words[: 2 if words[0] == "ingest" else 1]]
    if words[0].startswith("--"):  # an option alone is one of some verb
        verbs = [[verb] for verb in VERBS] + [["ingest", "can"]]
    helps = [subprocess.run([bin_dir / "plimsoll", *verb, "--help"], capture_output=True, text=True) for verb in verbs]
    for verb, done in zip(verbs, helps, strict=True):
        assert done.returncode == 0 and f"plimsoll {' '.join(verb)} [" in done.stdout, done
    for option in [word for word in words if word.startswith("--")]:
        assert any(re.search(rf"(?<![\w-]){option}\b", done.stdout) for done in helps), option


@pytest.mark.parametrize("name", named(r"plimsoll\.\w"))
def test_a_name_of_the_package_exists(name):
    plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    pytest.importorskip("torch_geometric")
    made, _, attribute = name.partition("(...).")
    first, *rest = made.split(".")[1:]
    found = getattr(plimsoll, first, None) or importlib.import_module(f"plimsoll.{first}")
    for word in rest:
        found = getattr(found, word)
    if attribute:  # `plan(...).x` is a field of `Plan`
        assert attribute in getattr(plimsoll, first.capitalize()).__annotations__


@pytest.mark.parametrize("key", named(r"(?:training|distillation|run|gat|vgae|gnn|sampling|memory)\.\w"))
def test_a_key_of_a_technique_exists(answer, key):
    name, _, value = key.partition(": ")
    code, error = answer("", "plan", "recipe.yaml", "--data", "absent", *WRONG, "-O", f"{name}={value or '{}'}")
    assert code == 2 and "key" not in error, error


@pytest.mark.parametrize("example", sorted(path.name for path in (REPOSITORY / "examples").glob("[!t]*_*.py")))
def test_the_row_of_a_tool_has_its_example(example):
    """For example `ray_train.py` is in the row of Ray Train."""
    tool = example.removesuffix(".py").replace("_", " ")
    answers = [here for there, here in techniques() if tool in there.lower()]
    assert answers and all(f"examples/{example}" in here for here in answers)


@pytest.mark.parametrize("tool, module", [("Ray Train", "ray"), ("Ray Tune", "ray"), ("DeepSpeed ZeRO", "deepspeed"),
                                          ("Dask", "plimsoll.dask")])
def test_a_tool_that_runs_here_is_not_denied(tool, module):
    """Its row names a script that uses the tool, or a module of the package."""
    answer = next(here for there, here in techniques() if tool in there)
    scripts = re.findall(r"\(\.\./(examples/\w+\.py)\)", answer)
    assert scripts or module in answer, answer
    for script in scripts:
        text = (REPOSITORY / script).read_text()
        compile(text, script, "exec")
        assert re.search(rf"^(import|from) {module}\b", text, re.M), script
    assert not re.search(r"\b(refuse|unsupported|not supported|requests none)\w*", answer), answer


@pytest.mark.parametrize("there, here", techniques())
def test_a_technique_has_an_answer(there, here):
    assert here and not re.search(r"\bnot (?:here|yet|there|built|implemented)\b|\bthere yet\b|\brequests none\b", here), there


def test_every_name_that_the_program_answers_stands_on_the_page():
    sources = [REPOSITORY / "src" / folder / "foreign_names.cc" for folder in ("config", "can/recipe")]
    names = {name for source in sources for name in re.findall(r'^ +\{"([^"]+)", "', source.read_text(), re.M)}
    assert len(names) > 90
    page = PAGE.read_text()
    absent = [name for name in sorted(names) if not re.search(rf"[`.-]{re.escape(name.strip('.')).replace('_', '[_-]')}[`:. =]", page)]
    assert not absent


def test_a_whole_configuration_of_kdgat_is_answered_at_once(answer):
    """The fields of PipelineConfig as its runs leave them in config.json."""
    code, error = answer(
        """{"dataset": "hcrl_sa", "model_type": "gat", "scale": "small", "seed": 42,
            "gat": {"hidden": 24, "layers": 2, "heads": 4, "dropout": 0.1, "embedding_dim": 8, "fc_layers": 2,
                    "conv_type": "gat", "edge_dim": 11, "pool_aggrs": ["mean"]},
            "dqn": {"hidden": 576, "layers": 3},
            "training": {"lr": 0.003, "max_epochs": 300, "batch_size": 4096, "patience": 100, "weight_decay": 0.0001,
                         "gradient_clip": 1.0, "precision": "32", "gradient_checkpointing": true, "safety_factor": 0.5},
            "auxiliaries": [{"type": "kd", "alpha": 0.7}], "num_workers": 8}""",
        "plan", "recipe.yaml", "--data", "absent")
    assert code == 2
    answers = error.removeprefix("plimsoll: ").splitlines()
    assert len(answers) == 13 and all("is not a key here; instead: " in line for line in answers), error


def test_what_is_no_word_of_anybody_is_refused_as_ever(answer):
    for words in (["fly"], ["plan", "recipe.yaml", "--data", "absent", "--fly", "2"], ["--fly"], []):
        code, error = answer("", *words)
        assert code == 2 and "instead" not in error
