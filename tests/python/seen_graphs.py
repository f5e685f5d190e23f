"""Model files that do not know which graphs they were trained on, as versions wrote them that did not record it."""

from safetensors import safe_open
from safetensors.torch import save_file


def forget_seen_graphs(model):
    """Other data is then evaluated whole, though graphs of it may have trained the model."""
    with safe_open(model, "pt") as file:
        metadata, names = file.metadata(), [name for name in file.keys() if not name.startswith("trained.")]
        tensors = {name: file.get_tensor(name) for name in names}
    del metadata["plimsoll.checksum"]
    save_file(tensors, model, metadata)
