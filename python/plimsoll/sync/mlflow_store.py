"""Stores runs in MLflow: on a server by REST, or in any store that the package `mlflow` opens, such as
sqlite:///mlflow.db.

REST needs no package: MLflow's client would need 200 MB and seconds of processor time next to a run with a budget.
"""

from __future__ import annotations

import base64
import json
import math
import os
import urllib.error
import urllib.parse
import urllib.request
from pathlib import Path
from typing import Any, BinaryIO, NamedTuple, Protocol

from plimsoll.sync.tracker import Refused

PIP = "pip install mlflow"
KEY = "plimsoll.key"  # tag with a unique key per run, by which a run is found whose creation was not confirmed


class Metric(NamedTuple):
    """One value of a metric."""
    key: str
    value: float
    timestamp: int  #: Milliseconds since 1970.
    step: int


class Store(Protocol):
    """A place for runs. All methods raise `Refused` if a retry cannot help, and other errors otherwise."""

    def experiment(self, name: str) -> str: ...
    def find_run(self, experiment: str, key: str) -> str | None: ...
    def create_run(self, experiment: str, name: str, start: int, tags: dict[str, str]) -> str: ...
    def log(self, run: str, metrics: list[Metric], params: dict[str, str], tags: dict[str, str]) -> None: ...
    def set_status(self, run: str, status: str, end: int | None) -> None: ...
    def params(self, run: str) -> dict[str, str]: ...
    def upload(self, run: str, file: Path, name: str) -> None: ...


def open_store(uri: str) -> Store:
    """Returns the store at a URI."""
    return Server(uri) if uri.startswith(("http://", "https://")) else Package(uri)


class Server:
    """An MLflow server, by its REST API 2.0 (mlflow.org/docs/latest/api_reference/rest-api.html)."""

    def __init__(self, uri: str) -> None:
        self._uri = uri.rstrip("/")
        self._headers = {"Content-Type": "application/json"}
        if token := os.environ.get("MLFLOW_TRACKING_TOKEN"):
            self._headers["Authorization"] = f"Bearer {token}"
        elif user := os.environ.get("MLFLOW_TRACKING_USERNAME"):
            password = os.environ.get("MLFLOW_TRACKING_PASSWORD", "")
            self._headers["Authorization"] = "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()

    def _ask(self, method: str, path: str, data: bytes | BinaryIO | None, timeout: float = 10, length: int | None = None) -> dict[str, Any]:
        """Sends a request. `data` may be a file of `length` bytes, which is sent in chunks."""
        headers = self._headers if length is None else {**self._headers, "Content-Length": str(length)}
        request = urllib.request.Request(f"{self._uri}/api/2.0/{path}", data, headers, method=method)
        try:
            with urllib.request.urlopen(request, timeout=timeout) as answer:
                found: dict[str, Any] = json.loads(answer.read() or b"{}")
                return found
        except urllib.error.HTTPError as error:
            text = error.read().decode(errors="replace")[:300]
            if error.code >= 500 or error.code in (408, 429):
                raise OSError(f"{self._uri}: {error.code} {text}") from error
            raise Refused(f"{self._uri}/api/2.0/{path}: {error.code} {text}") from error
        except OSError as error:
            raise OSError(f"{self._uri}: {error}") from error

    def _post(self, path: str, **fields: Any) -> dict[str, Any]:
        return self._ask("POST", f"mlflow/{path}", json.dumps(fields).encode())

    def _get(self, path: str, **fields: str) -> dict[str, Any]:
        return self._ask("GET", f"mlflow/{path}?{urllib.parse.urlencode(fields)}", None)

    def experiment(self, name: str) -> str:
        try:
            return str(self._get("experiments/get-by-name", experiment_name=name)["experiment"]["experiment_id"])
        except Refused:
            return str(self._post("experiments/create", name=name)["experiment_id"])

    def find_run(self, experiment: str, key: str) -> str | None:
        found = self._post("runs/search", experiment_ids=[experiment], filter=f"tags.`{KEY}` = '{key}'", max_results=1)
        return next((str(run["info"]["run_id"]) for run in found.get("runs", [])), None)

    def create_run(self, experiment: str, name: str, start: int, tags: dict[str, str]) -> str:
        made = self._post("runs/create", experiment_id=experiment, run_name=name, start_time=start, tags=_pairs(tags))
        return str(made["run"]["info"]["run_id"])

    def log(self, run: str, metrics: list[Metric], params: dict[str, str], tags: dict[str, str]) -> None:
        numbers = [{**m._asdict(), "value": m.value if math.isfinite(m.value) else _word(m.value)} for m in metrics]
        self._post("runs/log-batch", run_id=run, metrics=numbers, params=_pairs(params), tags=_pairs(tags))

    def set_status(self, run: str, status: str, end: int | None) -> None:
        self._post("runs/update", run_id=run, status=status, **({} if end is None else {"end_time": end}))

    def params(self, run: str) -> dict[str, str]:
        data = self._get("runs/get", run_id=run)["run"].get("data", {})
        return {param["key"]: param["value"] for param in data.get("params", [])}

    def upload(self, run: str, file: Path, name: str) -> None:
        place = str(self._get("runs/get", run_id=run)["run"]["info"]["artifact_uri"])
        proxied = "mlflow-artifacts:"
        if not place.startswith(proxied):
            raise Refused(f"artifacts are stored at {place}, not on the server; start the server with --artifacts-destination")
        path = urllib.parse.urlparse(place).path.strip("/")
        quoted = urllib.parse.quote(f"{path}/{name}")
        with open(file, "rb") as data:
            self._ask("PUT", f"mlflow-artifacts/artifacts/{quoted}", data, timeout=60, length=os.fstat(data.fileno()).st_size)


def _word(value: float) -> str:
    return "NaN" if math.isnan(value) else "Infinity" if value > 0 else "-Infinity"


def _pairs(values: dict[str, str]) -> list[dict[str, str]]:
    return [{"key": key, "value": value} for key, value in values.items()]


class Package:
    """Any other store that MLflow supports, through MLflow's own client."""

    def __init__(self, uri: str) -> None:
        from mlflow import MlflowClient, entities

        self._client = MlflowClient(tracking_uri=uri)
        self._entities = entities

    def experiment(self, name: str) -> str:
        found = self._client.get_experiment_by_name(name)
        return str(found.experiment_id if found else self._client.create_experiment(name))

    def find_run(self, experiment: str, key: str) -> str | None:
        found = self._client.search_runs([experiment], f"tags.`{KEY}` = '{key}'", max_results=1)
        return str(found[0].info.run_id) if found else None

    def create_run(self, experiment: str, name: str, start: int, tags: dict[str, str]) -> str:
        return str(self._client.create_run(experiment, start_time=start, tags=tags, run_name=name).info.run_id)

    def log(self, run: str, metrics: list[Metric], params: dict[str, str], tags: dict[str, str]) -> None:
        entities = self._entities
        self._client.log_batch(
            run,
            [entities.Metric(*metric) for metric in metrics],
            [entities.Param(*param) for param in params.items()],
            [entities.RunTag(*tag) for tag in tags.items()],
        )

    def set_status(self, run: str, status: str, end: int | None) -> None:
        if end is None:
            self._client.update_run(run, status)
        else:
            self._client.set_terminated(run, status, end)

    def params(self, run: str) -> dict[str, str]:
        return dict(self._client.get_run(run).data.params)

    def upload(self, run: str, file: Path, name: str) -> None:
        self._client.log_artifact(run, str(file), str(Path(name).parent) if "/" in name else None)
