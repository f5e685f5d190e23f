"""The weights of the shipped recipes are those of bench/results/hashes.md."""

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


@pytest.mark.parametrize("level", hashes.LEVELS)
@pytest.mark.parametrize("recipe", hashes.RECIPES)
def test_weights(level, recipe, data, tmp_path):
    maker, table = hashes.read_table()
    if level not in hashes.levels_here():
        pytest.skip(f"this processor has no {level}")
    if maker != hashes.processor()[0]:
        pytest.skip(f"the table is of a processor of {maker}: torch's BLAS takes other code here")
    assert hashes.hash_of(recipe, level, data, tmp_path) == table[recipe][level]


def test_every_recipe_is_in_the_table():
    names = {path.stem for path in (hashes.ROOT / "recipes").glob("*.yaml")}
    assert names == set(hashes.RECIPES) == set(hashes.read_table()[1])
