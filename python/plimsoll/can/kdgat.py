"""Converts weights of KD-GAT (github.com/RobertFrenken/DQN-Fusion, graphids/core/models) to model files and back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll.arguments import PathLike
from plimsoll.can.frames import Frames
from plimsoll.can.model_file import GAT, VGAE, ModelFile
from plimsoll.data.graph_set import GraphSet
from plimsoll.errors import InputError, MissingPackage

Weights = Mapping[str, NDArray[np.float32]]

_STACKS = {"encoder_layers": "encoder", "encoder_bns": "encoder_norms", "decoder_layers": "decoder", "decoder_bns": "decoder_norms"}
_HEADS = {"z_mean": "mu", "z_logvar": "logvar", "canid_classifier": "id_head", "id_embedding": "embedding"}
_LISTS = {"convs", "fc_layers", "neighborhood_decoder", *_STACKS}  # lists of layers, followed by a layer's number
_ACTIVATIONS = 3  # a linear layer, ReLU and dropout use three numbers of a ModuleList or Sequential


def import_kdgat(checkpoint: PathLike, out: PathLike, *, data: PathLike | None = None) -> ModelFile:
    """Writes the weights of a KD-GAT checkpoint, a GAT or an autoencoder, to a model file and returns its contents.

    - `checkpoint`: a file written by Lightning or by `torch.save(model.state_dict())`. It is read as data only; no
      code in it runs. Sizes follow from shapes, dropout from `config.json` next to it if that exists.
    - `out`: path of the model file.
    - `data`: the `frames` that the model was trained on, or their `compat` windows. The model file then has their
      vocabulary, which `train --teacher` and `detect` need.

    A head with one logit z becomes a head with the two logits 0 and z, which have the same log-odds.

    Errors: `InputError` naming what does not match; `MissingPackage` without torch.
    """
    weights = _read(Path(checkpoint))
    where = str(checkpoint)
    names = {name.split(".")[0] for name in weights}
    if wrong := sorted(name for name in weights if not _is_of_a_layer(name)):
        raise InputError(f"{where}: has {', '.join(wrong[:4])}, which Plimsoll's model does not have")
    if "encoder_layers" in names:
        model = _vgae(weights, where)
    elif "convs" in names:
        model = _gat(weights, where)
    else:
        raise InputError(f"{where}: has {', '.join(sorted(names)[:8])}; expected a GATWithJK or a GraphAutoencoderNeighborhood")
    dropout = _dropout_beside(Path(checkpoint), "gat" if model.kind == GAT else "vgae")
    if dropout is not None:
        model.config["dropout"] = dropout
    model.metadata = {
        "plimsoll.data": json.dumps({"features": "compat", "window": 100, "stride": 100}),
        "plimsoll.thresholds": "[]",
        "plimsoll.trained_on": "[]",
        "plimsoll.without": "[]",
        "plimsoll.unknown_ids": "learned",
    }
    if data is not None:
        model.facts = _vocabulary(data, model.config["num_ids"], where)
    model.save(out)
    return model


def kdgat_names(model: ModelFile) -> dict[str, NDArray[np.float32]]:
    """Returns the weights by KD-GAT's names, in the form that `load_state_dict` of its models accepts."""
    if model.kind == VGAE:
        back = {ours: theirs for theirs, ours in (_STACKS | _HEADS).items()}

        def rename(name: str) -> str:
            first, rest = name.split(".", 1)
            if first == "neighbours":
                number, rest = rest.split(".", 1)
                return f"neighborhood_decoder.{_ACTIVATIONS * int(number)}.{rest}"
            return f"{back[first]}.{rest}"

    else:
        last = _ACTIVATIONS * (model.config["fc_layers"] - 1)

        def rename(name: str) -> str:
            if name.startswith("fc."):
                _, number, rest = name.split(".", 2)
                return f"fc_layers.{_ACTIVATIONS * int(number)}.{rest}"
            return re.sub("^embedding", "id_embedding", re.sub("^head", f"fc_layers.{last}", name))

    return {rename(name): values for name, values in model.weights.items()}


def _read(checkpoint: Path) -> dict[str, NDArray[np.float32]]:
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(f"import kdgat: {error}; install it: pip install torch") from error
    import pickle

    try:
        loaded = torch.load(checkpoint, map_location="cpu", weights_only=True)
    except FileNotFoundError as error:
        raise InputError(f"no such checkpoint: {checkpoint}") from error
    except pickle.UnpicklingError as error:
        raise InputError(
            f"{checkpoint}: {str(error).splitlines()[0]}; it holds more than tensors: if you trust it, load it and save "
            'torch.save({"state_dict": checkpoint["state_dict"]}, FILE)'
        ) from error
    except Exception as error:  # For damaged bytes torch's reader raises errors of many types.
        raise InputError(f"{checkpoint}: cannot be loaded by torch: {error}") from error
    state = loaded.get("state_dict", loaded) if isinstance(loaded, dict) else None
    tensors = isinstance(state, dict) and all(
        isinstance(name, str) and isinstance(value, torch.Tensor) and value.layout == torch.strided
        for name, value in state.items()
    )
    if not tensors or not state:
        raise InputError(f"{checkpoint}: has no state_dict; expected tensors by name, or a Lightning checkpoint")
    if any(name.startswith("model.") for name in state):  # A Lightning module also has the teacher and a projection.
        state = {name.removeprefix("model."): value for name, value in state.items() if name.startswith("model.")}
    state = {name.removeprefix("module."): value for name, value in state.items()}
    return {
        name: np.ascontiguousarray(value.detach().float().numpy())
        for name, value in state.items()
        if not name.endswith("num_batches_tracked")
    }


def _is_of_a_layer(name: str) -> bool:
    first, *rest = name.split(".")
    return bool(rest) and (first not in _LISTS or (len(rest) > 1 and rest[0].isdecimal() and len(rest[0]) < 7))


class _Renamed:
    """Removes weights one by one by their old names, so that leftover weights can be reported."""

    def __init__(self, weights: Weights, where: str) -> None:
        self._left = dict(weights)
        self._where = where
        self.weights: dict[str, NDArray[np.float32]] = {}

    def take(self, rename: Callable[[str], str | None]) -> None:
        for name in list(self._left):
            ours = rename(name)
            if ours is not None:
                self.weights[ours] = self._left.pop(name)

    def require_none_left(self) -> None:
        if self._left:
            raise InputError(f"{self._where}: has {', '.join(sorted(self._left)[:4])}, which Plimsoll's model does not have")

    def shape(self, name: str, axes: int) -> tuple[int, ...]:
        values = self.weights.get(name)
        if values is None or values.ndim != axes:
            found = "nothing" if values is None else f"a shape of {values.shape}"
            raise InputError(f"{self._where}: {found} for '{name}', expected {axes} axes")
        return values.shape

    def require(self, name: str, *shape: int) -> None:
        if self.shape(name, len(shape)) != shape:
            raise InputError(f"{self._where}: '{name}' has shape {self.weights[name].shape}, expected {shape}")


def _conv_name(name: str) -> str:
    """Returns the current name of a GATConv weight. PyTorch Geometric before 2.4 called the shared projection lin_src."""
    return name.replace(".lin_src.weight", ".lin.weight")


def _gat(weights: Weights, where: str) -> ModelFile:
    linear = sorted({int(name.split(".")[1]) for name in weights if name.startswith("fc_layers.")})
    if linear != [_ACTIVATIONS * i for i in range(len(linear))] or not linear:
        raise InputError(f"{where}: fc_layers are numbered {linear}, expected 0, 3, 6, ...")

    def rename(name: str) -> str | None:
        if name == "id_embedding.weight":
            return "embedding.weight"
        if name.startswith("convs."):
            return _conv_name(name)
        if name.startswith("jk."):
            return name
        if not name.startswith("fc_layers."):
            return None
        _, number, rest = name.split(".", 2)
        return f"head.{rest}" if int(number) == linear[-1] else f"fc.{int(number) // _ACTIVATIONS}.{rest}"

    renamed = _Renamed(weights, where)
    if "id_embedding.weight" not in weights:
        raise InputError(f"{where}: has no id_embedding; models without embedded IDs (KD-GAT of 2025) are not supported")
    renamed.take(rename)
    renamed.require_none_left()
    ids, embedding = renamed.shape("embedding.weight", 2)
    layers = 1 + max((int(name.split(".")[1]) for name in weights if name.startswith("convs.")), default=-1)
    attention = "gat" if "convs.0.att_src" in renamed.weights else "gatv2" if "convs.0.att" in renamed.weights else ""
    if not attention:
        raise InputError(f"{where}: its convolutions are neither GATConv nor GATv2Conv; no others are supported")
    _, heads, hidden = renamed.shape("convs.0.att_src" if attention == "gat" else "convs.0.att", 3)
    width, given = renamed.shape("convs.0.lin.weight" if attention == "gat" else "convs.0.lin_l.weight", 2)
    edges = renamed.shape("convs.0.lin_edge.weight", 2)[1] if "convs.0.lin_edge.weight" in renamed.weights else 0
    jk = "lstm" if "jk.att.weight" in renamed.weights else "cat"
    joined = heads * hidden * (1 if jk == "lstm" else layers)
    for i in range(layers):
        if attention == "gat":
            renamed.require(f"convs.{i}.lin.weight", width, given if i == 0 else width)
            renamed.require(f"convs.{i}.att_src", 1, heads, hidden)
        else:
            renamed.require(f"convs.{i}.lin_l.weight", width, given if i == 0 else width)
        renamed.require(f"convs.{i}.bias", width)
    for j in range(len(linear) - 1):
        renamed.require(f"fc.{j}.weight", joined, joined)
    if renamed.shape("head.weight", 2) == (1, joined):
        renamed.require("head.bias", 1)
        for name in ("head.weight", "head.bias"):
            renamed.weights[name] = np.concatenate([np.zeros_like(renamed.weights[name]), renamed.weights[name]])
    renamed.require("head.weight", 2, joined)
    config = {
        "num_ids": ids,
        "in_features": given - embedding + 1,
        "embedding": embedding,
        "layers": layers,
        "hidden": hidden,
        "heads": heads,
        "dropout": 0.1,
        "fc_layers": len(linear),
        "attention": attention,
        "edge_features": edges,
        "jk": jk,
        "pooling": "mean",
    }
    return ModelFile(GAT, config, renamed.weights)


def _vgae(weights: Weights, where: str) -> ModelFile:
    def rename(name: str) -> str | None:
        first, rest = name.split(".", 1)
        if first in _HEADS:
            return f"{_HEADS[first]}.{rest}"
        if first in _STACKS:
            return _conv_name(f"{_STACKS[first]}.{rest}")
        if first == "neighborhood_decoder":
            number, rest = rest.split(".", 1)
            return f"neighbours.{int(number) // _ACTIVATIONS}.{rest}"
        return None

    renamed = _Renamed(weights, where)
    renamed.take(rename)
    renamed.require_none_left()
    ids, embedding = renamed.shape("embedding.weight", 2)
    layers = 1 + max(int(name.split(".")[1]) for name in weights if name.startswith("encoder_layers."))
    for name in ("encoder.0.att_src", "decoder.0.att_src"):
        if name not in renamed.weights:
            raise InputError(f"{where}: its convolutions are not GATConv, the only one supported in autoencoders")
    hidden = [renamed.shape(f"encoder.{i}.lin.weight", 2)[0] for i in range(layers)]
    given = renamed.shape("encoder.0.lin.weight", 2)[1]
    latent = renamed.shape("mu.weight", 2)[0]
    heads = renamed.shape("encoder.0.att_src", 3)[1]
    # Layers after the first have one head in model files. In KD-GAT they have one too with two widths, as in all presets.
    for stack in ("encoder", "decoder"):
        for i in range(1, layers):
            renamed.require(f"{stack}.{i}.att_src", 1, 1, renamed.shape(f"{stack}.{i}.lin.weight", 2)[0])
    renamed.require("neighbours.1.weight", latent, latent)
    renamed.require("neighbours.2.weight", ids, latent)
    config = {
        "num_ids": ids,
        "in_features": given - embedding + 1,
        "embedding": embedding,
        "hidden": hidden,
        "latent": latent,
        "heads": heads,
        "decoder_heads": renamed.shape("decoder.0.att_src", 3)[1],
        "dropout": 0.1,
        "output": "sigmoid",
        "edge_features": 0,
    }
    return ModelFile(VGAE, config, renamed.weights)


def _dropout_beside(checkpoint: Path, section: str) -> float | None:
    try:
        return float(json.loads((checkpoint.parent / "config.json").read_text())[section]["dropout"])
    except (OSError, ValueError, KeyError, TypeError):
        return None


def _vocabulary(data: PathLike, num_ids: int, where: str) -> dict[str, NDArray[np.int64]]:
    """Returns the CAN IDs of the training splits in the order of their indices, and the CAN IDs of benign frames in
    them.
    """
    if (Path(data) / "manifest.json").exists() and json.loads((Path(data) / "manifest.json").read_text()).get("kind") == "graph_set":
        ids = np.asarray(GraphSet(data).manifest["vocabulary"], np.int64)
        benign = ids
    else:
        frames = Frames(data)
        training = [r for r in frames.recordings if r.split.rsplit("/", 1)[-1].startswith("train")]
        rows = [slice(r.first_frame, r.first_frame + r.frames) for r in training]
        found = [np.unique(frames.can_id[part]) for part in rows]
        found_benign = [np.unique(frames.can_id[part][frames.label[part] == 0]) for part in rows]
        ids, benign = (np.unique(np.concatenate([np.empty(0, np.uint32), *each])).astype(np.int64) for each in (found, found_benign))
    if len(ids) + 1 != num_ids:
        raise InputError(
            f"{where}: was trained on {num_ids - 1} IDs, but the training splits of {data} have {len(ids)}; give the data that "
            "trained it"
        )
    return {"vocabulary.ids": ids, "vocabulary.benign": benign}
