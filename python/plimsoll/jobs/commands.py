"""The command line's verbs written in Python: `convert` for graphs, `import` and `export` of weights, `sync`.

`plimsoll` starts this module for these verbs and for ranks of a run; `python -m plimsoll` calls it directly.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path

from plimsoll.errors import Error
from plimsoll.jobs import ranks

VERBS = ("convert", "import", "export", "sync")


def main(arguments: Sequence[str]) -> None:
    """Runs the verb in `arguments` and ends the process with its exit code."""
    if arguments and arguments[0] == "sync":
        from plimsoll.sync.__main__ import main as sync

        sys.exit(sync(arguments[1:]))
    ranks.take(arguments)
    try:
        options = _parser().parse_args(arguments)
        done = options.work(options)
    except Error as error:
        print(f"plimsoll: {error}", file=sys.stderr)
        sys.exit(error.exit_code)
    print(json.dumps(done) if options.json else "\n".join(f"{key}: {value}" for key, value in done.items()))
    sys.exit(0)


def is_ours(arguments: Sequence[str]) -> bool:
    """Returns whether this module handles these arguments. `convert` and `import config` are left to the program
    `plimsoll`, which knows captures and starts this module for graphs.
    """
    if not arguments or arguments[0] not in VERBS or arguments[0] == "convert":
        return False
    return list(arguments[:2]) != ["import", "config"]


def _parser() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser("plimsoll", description="Run a verb that is written in Python.")
    verbs = parser.add_subparsers(required=True, metavar="VERB")

    about = "convert between graph sets and files of PyTorch Geometric"
    convert = verbs.add_parser("convert", help=about, description=_sentence(about))
    convert.add_argument("source", metavar="SOURCE", help="a graph_set, a .pt file or a folder of them; or an .arxml, .kcd or .sym file to convert to DBC")
    convert.add_argument("--out", required=True, metavar="PATH", help="write to this file or folder")
    convert.add_argument("--leave-out", nargs="+", default=[], metavar="NAME", help="leave out these attributes, for which a "
                                                                                    "graph_set has no column")
    convert.add_argument("--trust", action="store_true", help="also load files that can run code")
    convert.add_argument("--bus", metavar="NAME", help="convert only this bus, if the file describes several")
    convert.add_argument("--budget", metavar="SIZE", help="limit memory to this size, such as 256MiB or 2GB")
    convert.set_defaults(work=_convert)

    about = "convert files of other systems"
    systems = verbs.add_parser("import", help=about, description=_sentence(about)).add_subparsers(required=True, metavar="SYSTEM")
    about = "convert the weights of a KD-GAT checkpoint to a model file"
    imported = systems.add_parser("kdgat", help=about, description=_sentence(about))
    imported.add_argument("checkpoint", metavar="CHECKPOINT", help="a Lightning checkpoint, or a state_dict")
    imported.add_argument("--out", metavar="FILE", help="write the model to this file; default: CHECKPOINT with the extension "
                                                        ".safetensors")
    imported.add_argument("--data", metavar="DIR", help="add the vocabulary of this data set, the frames or compat windows that "
                                                        "the model was trained on; `train --teacher` and `detect` need it")
    imported.set_defaults(work=_import)

    about = "convert a model file to a PyTorch state_dict, or the network of a `gat` or `vgae` model to ONNX"
    exported = verbs.add_parser("export", help=about, description=_sentence(about))
    exported.add_argument("model", metavar="MODEL", help="a model.safetensors or detector.safetensors")
    exported.add_argument("--to", required=True, choices=["state_dict", "onnx"], help="write tensors by name to a .pt file (state_dict), or "
                                                                                          "the network of a `gat` or `vgae` model as "
                                                                                          "ONNX (onnx)")
    exported.add_argument("--out", metavar="FILE", help="write to this file; default: MODEL with the extension .pt or .onnx")
    exported.set_defaults(work=_export)

    for verb in (convert, imported, exported):
        verb.add_argument("--force", action="store_true", help="replace an existing output")
        verb.add_argument("--json", action="store_true", help="print the summary as JSON")
    return parser


def _sentence(text: str) -> str:
    return f"{text[0].upper()}{text[1:]}."


def _convert(options: argparse.Namespace) -> dict[str, object]:
    from plimsoll.can.bus_description import ENDINGS, to_dbc
    from plimsoll.data.graph_set import GraphSet
    from plimsoll.data.pyg_files import from_pyg_files, to_pyg_files

    source = Path(options.source)
    if source.suffix.lower() in ENDINGS:
        return {"out": options.out, "messages": to_dbc(source, options.out, bus=options.bus, force=options.force)}
    if (source / "manifest.json").exists():
        graphs = GraphSet(source)
        to_pyg_files(graphs, options.out, force=options.force)
    else:
        graphs = from_pyg_files(
            source, options.out, leave_out=options.leave_out, trust=options.trust, force=options.force, budget=options.budget
        )
    return {"out": options.out, "graphs": len(graphs), "splits": list(graphs.splits)}


def _import(options: argparse.Namespace) -> dict[str, object]:
    from plimsoll.arguments import require_other_file
    from plimsoll.errors import Failure
    from plimsoll.can.kdgat import import_kdgat

    out = Path(options.out or Path(options.checkpoint).with_suffix(".safetensors"))
    require_other_file(out, options.checkpoint)
    if out.exists() and not options.force:
        raise Failure(f"{out} already exists; give --force to replace it")
    model = import_kdgat(options.checkpoint, out, data=options.data)
    parameters = sum(values.size for name, values in model.weights.items() if "running_" not in name)
    return {"out": str(out), "model": model.kind, "parameters": parameters, "config": model.config,
            "vocabulary": len(model.facts.get("vocabulary.ids", ()))}


def _export(options: argparse.Namespace) -> dict[str, object]:
    from plimsoll.can.exporting import export

    out = Path(options.out or Path(options.model).with_suffix(".onnx" if options.to == "onnx" else ".pt"))
    export(options.model, out, to=options.to, force=options.force)
    return {"out": str(out), "to": options.to}
