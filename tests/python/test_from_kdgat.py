"""docs/from-kdgat.md: each row of its tables of keys and commands is tried against the program."""

import re
import shlex
import subprocess

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


def test_every_name_that_the_program_answers_stands_on_the_page():
    source = (REPOSITORY / "src" / "config" / "foreign_names.cc").read_text()
    names = set(re.findall(r'^    \{"([^"]+)", "', source, re.M))
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
    assert len(answers) == 13 and all("is no key here; instead: " in line for line in answers), error


def test_what_is_no_word_of_anybody_is_refused_as_ever(answer):
    for words in (["fly"], ["plan", "recipe.yaml", "--data", "absent", "--fly", "2"], ["--fly"], []):
        code, error = answer("", *words)
        assert code == 2 and "instead" not in error
