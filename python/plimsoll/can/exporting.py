"""Model files for other programs: a `state_dict` of torch, or ONNX."""

from __future__ import annotations

from pathlib import Path

from plimsoll.arguments import PathLike, one_of, require_other_file
from plimsoll.can.kdgat import kdgat_names
from plimsoll.can.model_file import GAT, VGAE, ModelFile
from plimsoll.errors import Error, Failure, InputError, MissingPackage
from plimsoll.replacing import new_file

FORMATS = ("state_dict", "onnx")


def export(model: PathLike, out: PathLike, *, to: str, force: bool = False) -> None:
    """Writes a model file for others.

    `state_dict`: a `.pt` file with tensors by name, for `load_state_dict`: of a detector with KD-GAT's names, of a
    classifier with those of docs/formats/safetensors.md. `onnx`: the network of a detector or an
    autoencoder; inputs `x` f32 [N, F], `edge_index` i64 [2, E] and, if it uses them, `edge_attr` f32 [E, K]. A detector also takes
    `batch` i64 [N] from 0 without gaps and gives `logits` f32 [G, 2]; an autoencoder gives `mu` and `logvar` f32 [N, latent],
    `features` f32 [N, F - 1], `id_logits` and `neighbour_logits` f32 [N, IDs], rebuilt from `mu`. `force` replaces a file that exists. Errors: `InputError`, `UsageError`, `Failure`, `MissingPackage`.
    """
    one_of("to", to, FORMATS)
    out = Path(out)
    require_other_file(out, model)
    if out.exists() and not force:
        raise Failure(f"{out} exists already; give --force to replace it")
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
        raise InputError(f"{model}: its options and tensors are not those of a {file.kind}: {error!r}") from error


def _write_state_dict(file: ModelFile, path: Path) -> None:
    try:
        import torch
    except ImportError as error:
        raise MissingPackage(f"export: {error}; install it: pip install torch") from error
    weights = kdgat_names(file) if file.kind in (GAT, VGAE) else file.weights
    with open(path, "wb") as stream:  # torch's own tells nothing of its errors
        torch.save({name: torch.from_numpy(values) for name, values in weights.items()}, stream)
