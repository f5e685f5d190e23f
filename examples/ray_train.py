"""Trains a recipe on the workers of Ray Train. If one dies, Ray restarts them and the run continues from its checkpoint.

    python examples/ray_train.py recipes/gat.yaml --data frames --run /shared/runs/gat --workers 2 [--kill-one]

The weights are those of `plimsoll train` in one process (docs/ranks.md). RUN must be on a disk that all workers share.
"""

import argparse
import os
import threading
import time
from pathlib import Path

os.environ |= {"RAY_USAGE_STATS_ENABLED": "0", "RAY_AUTH_MODE": "disabled"}  # Send no usage reports, and write no token to $HOME.

import ray  # noqa: E402
import ray.train  # noqa: E402
from ray.train import Checkpoint, FailureConfig, RunConfig, ScalingConfig  # noqa: E402
from ray.train.torch import TorchConfig, TorchTrainer  # noqa: E402


def die_after_a_checkpoint(run: Path, killed: Path) -> None:
    """Ends this worker once in the middle of the run, to show that the run continues."""
    while not killed.exists():
        if list(run.glob("seed-*/*/checkpoints/step-*")):
            killed.touch()
            os._exit(9)
        time.sleep(0.01)


def worker(config: dict) -> None:
    import plimsoll

    run, rank = Path(config["run"]), ray.train.get_context().get_world_rank()
    if config["kill_one"] and rank == 1:
        threading.Thread(target=die_after_a_checkpoint, args=(run, Path(config["killed"])), daemon=True).start()
    # Ray has made the process group: all workers call this and share the run. Without a checkpoint it starts from scratch.
    report = plimsoll.train(config["recipe"], config["data"], run, overrides=config["overrides"], threads=1,
                            budget=config["budget"], resume=True)
    found = {"weights": report.weights, "validation_loss": report.validation_loss, "best_epoch": report.best_epoch}
    ray.train.report(found, checkpoint=Checkpoint.from_directory(run) if rank == 0 else None)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("recipe")
    parser.add_argument("--data", required=True)
    parser.add_argument("--run", required=True)
    parser.add_argument("--workers", type=int, default=2, help="0: Ray's local mode, in the processes that torchrun started")
    parser.add_argument("--budget", default="1GiB", help="budget of each worker")
    parser.add_argument("-O", dest="overrides", action="append", default=[], metavar="KEY=VALUE")
    parser.add_argument("--kill-one", action="store_true", help="a worker dies once in the middle of the run")
    options = parser.parse_args()

    run = Path(options.run).absolute()
    storage = run.with_name(f"{run.name}.ray")
    if options.workers > 0:
        ray.init(**({} if "RAY_ADDRESS" in os.environ else {"include_dashboard": False, "object_store_memory": 100 << 20}))
    trainer = TorchTrainer(
        worker,
        train_loop_config={
            "recipe": str(Path(options.recipe).absolute()), "data": str(Path(options.data).absolute()), "run": str(run),
            "overrides": dict(pair.split("=", 1) for pair in options.overrides), "budget": options.budget,
            "kill_one": options.kill_one, "killed": str(run) + ".killed",
        },
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=options.workers, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(name="run", storage_path=str(storage), failure_config=FailureConfig(max_failures=2, controller_failure_limit=2)),
    )  # fmt: skip
    result = trainer.fit()
    if options.workers > 0:
        ray.shutdown()
    if result.checkpoint is not None:  # In local mode only rank 0 has one.
        print(f"weights {result.metrics['weights']}, validation loss {result.metrics['validation_loss']:.4f}; checkpoint "
              f"{result.checkpoint.path}")


if __name__ == "__main__":
    main()
