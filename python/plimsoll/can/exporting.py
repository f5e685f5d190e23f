"""Exports model files for other programs: as a torch `state_dict` or as ONNX."""

from __future__ import annotations

from pathlib import Path

from plimsoll.arguments import PathLike, one_of, require_other_file
from plimsoll.can.kdgat import kdgat_names
from plimsoll.can.model_file import GAT, VGAE, ModelFile
from plimsoll.errors import Error, Failure, InputError, MissingPackage
from plimsoll.replacing import new_file

FORMATS = ("state_dict", "onnx")


def export(model: PathLike, out: PathLike, *, to: str, force: bool = False) -> None:
    """Exports a model file in a format for other programs.

    - `model`: a model file.
    - `out`: path of the output.
    - `to`: "state_dict" or "onnx".
    - `force`: replace an existing output.

    "state_dict" writes a `.pt` file of tensors by name for `load_state_dict`: a detector with KD-GAT's names, a
    classifier with the names in docs/formats/safetensors.md.

    "onnx" writes the network of a detector or an autoencoder. Inputs are `x` f32 [N, F], `edge_index` i64 [2, E] and,
    if the model uses it, `edge_attr` f32 [E, K]. A detector also needs `batch` i64 [N], from 0 without gaps, and
    returns `logits` f32 [G, 2]. An autoencoder returns `mu` and `logvar` f32 [N, latent], and, decoded from `mu`,
    `features` f32 [N, F - 1], `id_logits` and `neighbour_logits` f32 [N, IDs].

    Errors: `InputError`, `UsageError`, `Failure`, `MissingPackage`.
    """
    one_of("to", to, FORMATS)
    out = Path(out)
    require_other_file(out, model)
    if out.exists() and not force:
        raise Failure(f"{out} already exists; give --force to replace it")
    file = ModelFile.load(model)
    try:
        with new_file(out) as made:
            if to == "onnx":
                from plimsoll.can.onnx_model import write_onnx

                write_onnx(file, made, str(model))
            else:
                _write_state_dict(file, made)
    except Error:
        raise
    except (KeyError, TypeError, ValueError) as error:
        raise InputError(f"{model}: its options and tensors do not match a {file.kind}: {error!r}") from error


def _write_state_dict(file: ModelFile, path: Path) -> None:
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(f"export: {error}; install it: pip install torch") from error
    weights = kdgat_names(file) if file.kind in (GAT, VGAE) else file.weights
    with open(path, "wb") as stream:  # A file that torch opens itself hides the system's errors.
        torch.save({name: torch.from_numpy(values) for name, values in weights.items()}, stream)
