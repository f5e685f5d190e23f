"""The weights of the shipped recipes are those of bench/results/hashes.md."""

import os
import sys
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "bench"))

import hashes  # noqa: E402


@pytest.fixture(scope="module")
def data(tmp_path_factory, bin_dir):
    hashes.PLIMSOLL = bin_dir / "plimsoll"
    folder = tmp_path_factory.mktemp("data")
    hashes.make_data(folder)
    return folder


def need_the_table(level):
    maker, table = hashes.read_table()
    if level not in hashes.levels_here():
        pytest.skip(f"this processor has no {level}")
    if maker != hashes.processor()[0]:
        pytest.skip(f"the table is of a processor of {maker}: torch's BLAS takes other code here")
    return table


@pytest.mark.parametrize("level", hashes.LEVELS)
@pytest.mark.parametrize("recipe", hashes.RECIPES)
def test_weights(level, recipe, data, tmp_path):
    table = need_the_table(level)
    if table[recipe][level] == "not measured":
        pytest.skip("the table has no hash of this recipe at this level: run bench/hashes.py")
    assert hashes.hash_of(recipe, level, data, tmp_path) == table[recipe][level]


#: Graphs and distillations are in test_ranks.py.
OF_RANKS = hashes.RECIPES if os.environ.get("PLIMSOLL_SLOW") else ("node_classification", "link_prediction")


@pytest.mark.parametrize("recipe", OF_RANKS)
def test_ranks_have_the_same_weights(recipe, data, tmp_path, monkeypatch):
    pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
    level = hashes.levels_here()[-1]
    table = need_the_table(level)
    if table[recipe][level] == "not measured":
        pytest.skip("the table has no hash of this recipe at this level: run bench/hashes.py")
    monkeypatch.setenv("PLIMSOLL_PYTHON", sys.executable)
    try:
        found = hashes.hash_of(recipe, level, data, tmp_path, "--ranks", 2, "--threads", 1)
    except RuntimeError as error:
        if "2 ranks, but a step has 1 blocks" in str(error):
            pytest.skip("a step of it on this small data has one block")
        if "training.lanes is 1" in str(error):
            pytest.skip("its recipe has one lane, so one rank")
        raise
    assert found == table[recipe][level]


def test_the_table_has_the_number_of_these_sources():
    assert hashes.numerics_of_table() == hashes.numerics()


def test_other_hashes_need_another_number(tmp_path):
    path = tmp_path / "hashes.md"
    lines = ["# Weights", "", f"On a processor of {hashes.processor()[0]}, torch {hashes.torch_version()}, numerics NUMBER.", "",
             "| recipe | avx2 |", "|---|---|", "| gat | `00` |"]
    text = "\n".join(lines) + "\n"
    path.write_text(text.replace("NUMBER", str(hashes.numerics())))
    hashes.require_new_number({"avx2": {"gat": "00", "new": "01"}}, path)
    with pytest.raises(SystemExit, match=r"gat \(avx2\).*Raise kNumerics"):
        hashes.require_new_number({"avx2": {"gat": "01"}}, path)
    path.write_text(text.replace("NUMBER", str(hashes.numerics() - 1)))
    hashes.require_new_number({"avx2": {"gat": "01"}}, path)


def test_every_recipe_is_in_the_table():
    names = {path.stem for path in (hashes.ROOT / "recipes").glob("*.yaml")}
    assert names == set(hashes.RECIPES) == set(hashes.read_table()[1])
