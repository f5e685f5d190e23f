"""Model files (docs/formats/safetensors.md): tensors by name, and what the model is."""

from __future__ import annotations

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plimsoll import _core
from plimsoll.arguments import PathLike
from plimsoll.errors import InputError

GAT = "gat_with_jk"
VGAE = "graph_autoencoder_neighborhood"


@dataclass
class ModelFile:
    """What a model file holds."""

    kind: str  #: `plimsoll.model`
    config: dict[str, Any]  #: `plimsoll.config`
    weights: dict[str, NDArray[np.float32]]  #: parameters and buffers, by name
    facts: dict[str, NDArray[Any]] = field(default_factory=dict)  #: other tensors: vocabulary.ids, profile.*, ...
    metadata: dict[str, str] = field(default_factory=dict)  #: the rest of it, as texts

    def save(self, path: PathLike) -> None:
        """Writes it under a temporary name, which becomes `path`. Errors: `Failure`."""
        metadata = {**self.metadata, "plimsoll.model": self.kind, "plimsoll.config": json.dumps(self.config)}
        _core.write_model(Path(path), {**self.weights, **self.facts}, metadata)

    @classmethod
    def load(cls, path: PathLike) -> ModelFile:
        """Errors: `InputError` that names the file and what is wrong with it."""
        tensors, metadata = _core.read_model(Path(path))
        try:
            kind, config = metadata.pop("plimsoll.model"), json.loads(metadata.pop("plimsoll.config"))
        except (KeyError, ValueError) as error:
            raise InputError(f"{path}: is no model file of Plimsoll: {error!r} in its metadata") from error
        if not isinstance(config, dict):
            raise InputError(f"{path}: is no model file of Plimsoll: plimsoll.config is {config!r}, expected options by name")
        facts = {name for name in tensors if name.split(".")[0] in ("vocabulary", "profile", "timing", "fusion", "trained")}
        return cls(
            kind,
            config,
            {name: values for name, values in tensors.items() if name not in facts},
            {name: tensors[name] for name in facts},
            metadata,
        )
