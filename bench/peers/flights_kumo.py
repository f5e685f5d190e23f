"""One task of the flights of 2013 with kumo-engine: the peer of bench/beside.py for tables.

    flights_kumo.py FOLDER TASK SCRATCH [--steps 5] [--seed 42]

FOLDER is a data set of RelBench; SCRATCH is an empty folder. Trains on the task's own rows and labels with the plan that
kumo-engine suggests in its mode FAST, one experiment, without a second fit and without explanations. Prints AUROC by
RelBench's rule, the checksum of the weights and how many test rows there were, as JSON; what kumo-engine prints goes to stderr.
"""

import argparse
import contextlib
import hashlib
import json
import sys
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq
import torch
from kumo.engine import Edge, FileConnector, Graph, PredictiveQuery, Table, Trainer, TrainingTable, configure
from kumoapi.model_plan import RunMode
from kumoapi.train import TrainingTableSpec
from sklearn.metrics import roc_auc_score

KEYS = {"flights": "flight_id", "planes": "plane_id", "airports": "airport_id", "airlines": "carrier_id", "weather": None}
REFERENCES = [("flights", "plane_id", "planes"), ("flights", "carrier_id", "airlines"), ("flights", "origin_id", "airports"),
              ("flights", "dest_id", "airports"), ("weather", "origin_id", "airports")]
QUESTION = "PREDICT COUNT(flights.*, 0, 7, days) > 3 FOR EACH planes.plane_id"  # plane-active


def write_rows(folder, task, out):
    """The task's rows as kumo-engine takes them; returns the first time of the test split."""
    parts = []
    for number, split in enumerate(("train", "val", "test")):
        table = pq.read_table(folder / "tasks" / task / f"{split}.parquet")
        time, entity, label = table.columns
        parts.append(pa.table({"ENTITY1": entity, "TIMESTAMP": time, "TARGET1": pc.cast(label, "bool"),
                               "SPLIT": pa.array([number] * len(table), "int64")}))
    pq.write_table(pa.concat_tables(parts), out / "rows.parquet")
    return pc.min(time)


def write_tables(folder, end, out):
    """The tables without rows later than `end` (RelBench's rule), and with strings of a type that kumo-engine reads."""
    for path in folder.glob("db/*.parquet"):
        table = pq.read_table(path)
        table = table.cast(pa.schema([field.with_type(pa.string()) if pa.types.is_large_string(field.type) else field
                                      for field in table.schema]))
        pq.write_table(table.filter(pc.less_equal(table.column("time"), end)) if "time" in table.column_names else table,
                       out / path.name)


def snapshot_of(files):
    tables = {name: Table.from_source_table(files[name], primary_key=key,
                                            time_column="time" if name in ("flights", "weather") else None)
              for name, key in KEYS.items()}
    graph = Graph(tables=tables, edges=[Edge(src_table=table, fkey=key, dst_table=target) for table, key, target in REFERENCES])
    return graph, graph.snapshot()


def suggested(query, snapshot, options):
    plan = query.suggest_model_plan(snapshot, run_mode=RunMode.FAST)
    plan.training_job.num_experiments = 1
    plan.training_job.refit_trainval = False
    plan.training_job.disable_explain = True
    plan.training_job.manual_seed = options.seed
    plan.optimization.max_epochs = 1
    if options.steps:
        plan.optimization.min_steps_per_epoch = min(options.steps, 30)
        plan.optimization.max_steps_per_epoch = options.steps
        plan.optimization.max_val_steps = plan.optimization.max_test_steps = options.steps
    print(plan)
    return plan


def tensors_of(state):
    """The tensors in nested dictionaries, in the order of their names."""
    if isinstance(state, torch.Tensor):
        yield state
    elif isinstance(state, dict):
        for name in sorted(state):
            yield from tensors_of(state[name])


def weights_of(folder):
    """The checksum of the weights in the checkpoint of a run, of which there is one."""
    (path,) = folder.rglob("*.ckpt")
    state = torch.load(path, map_location="cpu", weights_only=False)["state_dict"]
    return hashlib.sha256(b"".join(value.numpy().tobytes() for value in tensors_of(state))).hexdigest()[:32]


def run(options):
    rows, tables = options.scratch / "rows", options.scratch / "tables"
    rows.mkdir(parents=True), tables.mkdir()
    write_tables(options.folder, write_rows(options.folder, options.task, rows), tables)
    configure(scratch_dir=str(options.scratch / "kumo"))
    graph, snapshot = snapshot_of(FileConnector(root_dir=str(tables)))
    query = PredictiveQuery(graph, QUESTION)
    table = TrainingTable.from_source_table(FileConnector(root_dir=str(rows))["rows"], TrainingTableSpec(split_col="SPLIT"),
                                            pq=query, snapshot=snapshot)
    held_out = Trainer(suggested(query, snapshot, options)).fit(table, snapshot=snapshot).holdout_df()
    return {"weights": weights_of(options.scratch / "kumo"), "test_rows": len(held_out),
            "test": roc_auc_score(held_out["TARGET"], held_out["True_PROB"])}


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("folder", type=Path)
    parser.add_argument("task", choices=["plane-active"])
    parser.add_argument("scratch", type=Path)
    parser.add_argument("--steps", type=int, default=0, help="train, validate and test on this number of batches; 0: on all")
    parser.add_argument("--seed", type=int, default=42)
    with contextlib.redirect_stdout(sys.stderr):
        result = run(parser.parse_args())
    print(json.dumps(result))


if __name__ == "__main__":
    main()
