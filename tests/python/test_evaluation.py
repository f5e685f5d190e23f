"""`plimsoll evaluate`: figures recomputed by scikit-learn from the scores, delays from the frames, and the report."""

import csv
import json
import math
import re
import xml.etree.ElementTree
from collections import defaultdict
from html.parser import HTMLParser

import numpy as np
import pytest
from sklearn import metrics

RECIPE = """
task: detection
data: {features: FEATURES}
training: {max_epochs: 4, batch_size: 64}
gat: {hidden: 8, heads: 2}
"""
WINDOW = 100


@pytest.fixture(scope="module", params=["compat", "behaviour"])
def judged(request, run, tmp_path_factory):
    """evaluation.json, the scores by (split, detector) and the frames, of a small run on a simulated bus."""
    folder = tmp_path_factory.mktemp("evaluation")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "150000", "--seed", "3")
    (folder / "recipe.yaml").write_text(RECIPE.replace("FEATURES", request.param))
    run("plimsoll", "train", folder / "recipe.yaml", "--data", folder / "frames", "--run", folder / "run")
    published = {"source": "somebody", "splits": [{"name": "validation", "models": [{"name": "theirs", "f1": 0.5}]}]}
    (folder / "published.json").write_text(json.dumps(published))
    table = run("plimsoll", "evaluate", folder / "run", "--data", folder / "frames", "--scores", folder / "scores.csv",
                "--compare", folder / "published.json")
    evaluation = json.loads((folder / "run" / "evaluation.json").read_text())
    scores = defaultdict(list)
    with open(folder / "scores.csv", newline="") as file:
        for row in csv.DictReader(file):
            scores[row["split"], row["detector"]].append(
                (row["recording"], int(row["window"]), int(row["label"]), float(row["score"])))
    return {"features": request.param, "folder": folder, "evaluation": evaluation, "scores": scores, "table": table,
            "published": published}


def entries(evaluation):
    """(split, group, rows to keep, entry of a detector) of every figure."""
    for split in evaluation["splits"]:
        for kind, groups in (("split", [split]), ("attack", split["attacks"]), ("recording", split["recordings"])):
            for group in groups:
                for entry in group["models"] + group["rules"]:
                    yield split, kind, group, entry


def same(found, expected):
    if expected is None:
        return found is None
    return found == pytest.approx(expected, abs=1e-9)


def test_every_figure_is_that_of_scikit_learn(judged):
    manifest = json.loads((judged["folder"] / "frames" / "manifest.json").read_text())
    attack_of = {(r["split"], r["name"]): r["attack"] or "attack-free" for r in manifest["recordings"]}
    attack_of |= {("validation", r["name"]): r["attack"] or "attack-free" for r in manifest["recordings"]
                  if r["split"].startswith("train")}
    count = 0
    for split, kind, group, entry in entries(judged["evaluation"]):
        rows = judged["scores"][split["name"], entry["name"]]
        if kind == "recording":
            rows = [row for row in rows if row[0] == group["name"]]
        if kind == "attack":
            rows = [row for row in rows if attack_of[split["name"], row[0]] == group["name"]]
        truth = np.array([row[2] for row in rows])
        scores = np.array([row[3] for row in rows], dtype=np.float32)
        flags = scores > np.float32(entry["threshold"])
        assert (len(rows), truth.sum()) == (group["graphs"], group["attack_graphs"])
        tn, fp, fn, tp = metrics.confusion_matrix(truth, flags, labels=[0, 1]).ravel()
        assert entry["confusion"] == {"tp": tp, "fp": fp, "tn": tn, "fn": fn}
        attacks, both = bool(truth.any()), 0 < truth.sum() < len(truth)
        assert same(entry["f1"], metrics.f1_score(truth, flags, zero_division=0) if attacks else None)
        assert same(entry["recall"], metrics.recall_score(truth, flags) if attacks else None)
        assert same(entry["precision"], metrics.precision_score(truth, flags) if attacks and flags.any() else None)
        assert same(entry["fpr"], fp / (fp + tn) if fp + tn else None)
        assert same(entry["auc"], metrics.roc_auc_score(truth, scores) if both else None)
        assert same(entry["pr_auc"], metrics.average_precision_score(truth, scores) if both else None)
        assert same(entry["mcc"], metrics.matthews_corrcoef(truth, flags) if both else None)
        assert same(entry["balanced_accuracy"], metrics.balanced_accuracy_score(truth, flags) if both else None)
        count += 1
    assert count > 50


def test_thresholds_let_pass_what_they_should_of_benign_validation(judged):
    validation = judged["evaluation"]["splits"][0]
    assert validation["name"] == "validation"
    for model in validation["models"]:
        benign = np.array([row[3] for row in judged["scores"]["validation", "gat"] if row[2] == 0], dtype=np.float32)
        realised = float(np.mean(benign > np.float32(model["threshold"])))
        assert model["validation_fpr"] == pytest.approx(realised) and realised <= model["target_fpr"]
        assert model["fpr"] == pytest.approx(realised)


def compat_ends(frames):
    """First and last frame of each window of a recording, as the published code cuts them."""
    sources = [f for f in range(frames) if f % 5000 != 4999 and f != frames - 1]
    return [(sources[k], sources[k + WINDOW - 1] + 1) for k in range(0, len(sources) - WINDOW + 1, WINDOW)]


def behaviour_ends(frames):
    return [(k, min(k + WINDOW, frames) - 1) for k in range(0, frames, WINDOW)]


def test_delays_are_those_of_the_frames(judged):
    folder = judged["folder"] / "frames"
    times, labels = np.load(folder / "time_ns.npy"), np.load(folder / "label.npy")
    ends = compat_ends if judged["features"] == "compat" else behaviour_ends
    detected = 0
    for recording in json.loads((folder / "manifest.json").read_text())["recordings"]:
        if recording["split"].startswith("train"):
            continue
        first = recording["first_frame"]
        windows = ends(recording["frames"])
        split = next(s for s in judged["evaluation"]["splits"] if s["name"] == recording["split"])
        group = next(g for g in split["recordings"] if g["name"] == recording["name"])
        assert group["graphs"] == len(windows) and group["attack"] == recording["attack"]
        label = labels[first:first + windows[-1][1] + 1]
        attack = int(np.argmax(label == 1)) if (label == 1).any() else None
        for entry in group["models"] + group["rules"]:
            delay = entry["delay"]
            assert delay["recordings"] == (attack is not None)
            if attack is None:
                continue
            rows = [row for row in judged["scores"][split["name"], entry["name"]] if row[0] == recording["name"]]
            verdicts = [end for (_, end), row in zip(windows, rows)
                        if end >= attack and np.float32(row[3]) > np.float32(entry["threshold"])]
            assert delay["never_detected"] == (not verdicts)
            if not verdicts:
                assert delay["frames"] is None and delay["milliseconds"] is None
                continue
            detected += 1
            assert delay["frames"] == verdicts[0] - attack
            passed = (times[first + verdicts[0]] - times[first + attack]) / 1e6
            assert delay["milliseconds"] == pytest.approx(passed)
    assert detected > 3


def test_false_alarms_an_hour_are_of_the_time_of_benign_windows(judged):
    folder = judged["folder"] / "frames"
    times, labels = np.load(folder / "time_ns.npy"), np.load(folder / "label.npy")
    ends = compat_ends if judged["features"] == "compat" else behaviour_ends
    counted = 0
    for recording in json.loads((folder / "manifest.json").read_text())["recordings"]:
        if recording["split"].startswith("train"):
            continue
        split = next(s for s in judged["evaluation"]["splits"] if s["name"] == recording["split"])
        group = next(g for g in split["recordings"] if g["name"] == recording["name"])
        last = recording["first_frame"] + np.array([end for _, end in ends(recording["frames"])])
        truth = [row[2] for row in judged["scores"][split["name"], group["models"][0]["name"]] if row[0] == recording["name"]]
        passed = np.diff(times[last])
        hours = passed[(np.array(truth[1:]) == 0) & (passed >= 0) & (passed <= 60e9)].sum() / 3.6e12
        for entry in group["models"] + group["rules"]:
            assert same(entry["false_alarms_per_hour"], entry["confusion"]["fp"] / hours if hours else None)
            counted += entry["confusion"]["fp"] > 0
    assert counted > 3


def test_what_others_published_stands_beside_ours(judged):
    assert judged["evaluation"]["compared"] == judged["published"]
    assert "published: theirs" in judged["table"] and "somebody" in judged["table"]
    assert "published: theirs" in (judged["folder"] / "run" / "report.html").read_text()


def test_published_figures_that_come_along_are_accepted(judged, run, pytestconfig):
    files = sorted((pytestconfig.rootpath / "docs" / "published").glob("*.json"))
    assert len(files) == 3
    for file in files:
        done = json.loads(run("plimsoll", "evaluate", judged["folder"] / "run", "--data", judged["folder"] / "frames",
                              "--split", "validation", "--json", "--compare", file))
        assert done["compared"] == json.loads(file.read_text())


class Page(HTMLParser):
    """What a page would load, and whether its tags close."""

    VOID = {"meta", "br", "hr", "img", "link", "input"}

    def __init__(self):
        super().__init__()
        self.open, self.loads, self.tags = [], [], defaultdict(int)

    def handle_starttag(self, tag, attributes):
        self.tags[tag] += 1
        self.loads += [value for name, value in attributes
                       if name in ("src", "href", "data", "xlink:href") and not value.startswith("#")]
        if tag not in self.VOID:
            self.open.append(tag)

    def handle_startendtag(self, tag, attributes):
        self.handle_starttag(tag, attributes)
        if tag not in self.VOID:
            self.open.pop()

    def handle_endtag(self, tag):
        assert self.open.pop() == tag


def test_the_report_is_well_formed_and_loads_nothing(judged):
    path = judged["folder"] / "run" / "report.html"
    text = path.read_text()
    page = Page()
    page.feed(text)
    page.close()
    assert page.open == [] and page.loads == []
    assert page.tags["link"] == 0 and "<script src" not in text  # plots have their script in the page
    assert "url(" not in text and "@import" not in text
    assert page.tags["svg"] > 10 and page.tags["table"] >= 4
    xml.etree.ElementTree.parse(path)
    said = re.sub(r"<script>.*?</script>", "", text, flags=re.S)
    assert "NaN" not in said and "nan" not in said
    for split in judged["evaluation"]["splits"]:
        assert split["name"] in text
    figures = [value for *_, entry in entries(judged["evaluation"]) for value in (entry["f1"], entry["auc"])]
    assert all(value is None or math.isfinite(value) for value in figures)


def test_one_split_alone_writes_nothing(judged, run):
    folder = judged["folder"]
    before = {name: (folder / "run" / name).stat().st_mtime_ns for name in ("evaluation.json", "report.html")}
    done = json.loads(run("plimsoll", "evaluate", folder / "run", "--data", folder / "frames", "--split", "validation",
                          "--json"))
    assert [split["name"] for split in done["splits"]] == ["validation"]
    assert done["splits"] == [judged["evaluation"]["splits"][0]]
    assert before == {name: (folder / "run" / name).stat().st_mtime_ns for name in before}
