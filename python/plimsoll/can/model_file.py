"""Model files (docs/formats/safetensors.md): tensors by name, and the description of the model."""

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
    """The contents of a model file."""

    kind: str  #: The kind of model, `plimsoll.model` in the metadata.
    config: dict[str, Any]  #: The model's options, `plimsoll.config` in the metadata.
    weights: dict[str, NDArray[np.float32]]  #: Parameters and buffers by name.
    facts: dict[str, NDArray[Any]] = field(default_factory=dict)  #: Other tensors: vocabulary.ids, profile.*, ...
    metadata: dict[str, str] = field(default_factory=dict)  #: The rest of the metadata, as text.

    def save(self, path: PathLike) -> None:
        """Writes the model file under a temporary name, then renames it to `path`. Errors: `Failure`."""
        metadata = {**self.metadata, "plimsoll.model": self.kind, "plimsoll.config": json.dumps(self.config)}
        _core.write_model(Path(path), {**self.weights, **self.facts}, metadata)

    @classmethod
    def load(cls, path: PathLike) -> ModelFile:
        """Reads a model file. Errors: `InputError` naming the file and what is wrong with it."""
        tensors, metadata = _core.read_model(Path(path))
        try:
            kind, config = metadata.pop("plimsoll.model"), json.loads(metadata.pop("plimsoll.config"))
        except (KeyError, ValueError) as error:
            raise InputError(f"{path}: is not a model file of Plimsoll: {error!r} in its metadata") from error
        if not isinstance(config, dict):
            raise InputError(f"{path}: is not a model file of Plimsoll: plimsoll.config is {config!r}, expected options by name")
        facts = {name for name in tensors if name.split(".")[0] in ("vocabulary", "profile", "timing", "fusion", "trained")}
        return cls(
            kind,
            config,
            {name: values for name, values in tensors.items() if name not in facts},
            {name: tensors[name] for name in facts},
            metadata,
        )
