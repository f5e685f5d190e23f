"""`plimsoll.plan` for a model of GPU that is not in this machine."""

import os

import pytest

plimsoll = pytest.importorskip("plimsoll", reason="the package is not installed: run `make package`")
pytest.importorskip("torch_geometric")

from fit_models import classifier, made_up  # noqa: E402
from torch_geometric.loader import DataLoader  # noqa: E402

MIB = 1 << 20
ASSUMED = (617 + 66) * MIB  # context, and the workspace of cuBLAS (PlannedDevice)


def planned(model, **options):
    return plimsoll.plan(classifier(), DataLoader(made_up(), batch_size=16), device="cuda", device_model=model, **options)


def test_only_driver_and_libraries_differ_between_models():
    measured, assumed = planned("h200"), planned("v100-16")
    assert measured.outside == ASSUMED and assumed.outside == ASSUMED + 128 * MIB
    assert (measured.parameters, measured.optimizer, measured.batch, measured.step) == (
        assumed.parameters, assumed.optimizer, assumed.batch, assumed.step)
    assert measured.budget > 139 << 30 and 15 << 30 < assumed.budget < 16 << 30
    assert assumed.fits and assumed.largest_batch == measured.largest_batch == len(made_up())  # All graphs fit on both.
    assert assumed.device == "cuda" and assumed.device_model == "v100-16" and "computed on the CPU for a v100-16" in str(assumed)


def test_each_tensor_is_rounded_up_to_256_bytes():
    card = planned("h200")
    tensors = [-(-parameter.nbytes // 256) * 256 for parameter in classifier().parameters()]
    assert card.parameters == sum(tensors)
    assert card.optimizer == 2 * sum(tensors) + 256 * len(tensors)  # Adam has two moments of each, and a step.
    on_cpu = plimsoll.plan(classifier(), DataLoader(made_up(), batch_size=16))
    assert on_cpu.device_model is None and on_cpu.step == pytest.approx(card.step, rel=0.25)


def test_a_budget_is_kept():
    budget = planned("v100-16").smallest_budget
    assert planned("v100-16", device_budget=budget).fits
    assert not planned("v100-16", device_budget=budget - MIB).fits


@pytest.mark.parametrize("model, options, text", [
    ("v100-17", {}, "did you mean 'v100-16'?"),
    ("v100-16", {"device_budget": "20GiB"}, "more than the 15.8 GiB that the device has"),
])
def test_what_cannot_be_is_refused(model, options, text):
    with pytest.raises(plimsoll.UsageError, match=text.replace("?", r"\?")):
        planned(model, **options)


def test_a_model_needs_a_gpu():
    with pytest.raises(plimsoll.UsageError, match='add device="cuda"'):
        plimsoll.plan(classifier(), DataLoader(made_up(), batch_size=16), device_model="v100-16")


def mapped():
    """Bytes of the addresses of this process."""
    with open("/proc/self/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def test_planning_again_maps_no_more_memory_and_the_process_can_fork():
    planned("v100-16")
    before = mapped()
    for _ in range(4):
        planned("v100-16")
    assert mapped() < before + 256 * MIB  # A stand-in has gigabytes.
    child = os.fork()
    if child == 0:
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
