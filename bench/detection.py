#!/usr/bin/env python3
"""Detection on unknown vehicles and unknown attacks, as sections of bench/results/detection.md: run by bench/detection.sh.

    detection.py CAPTURES FOLDER [--seeds N] [--sections NAME,...]

CAPTURES holds can/, can-daga-v40/ and so on; what is absent is left out. Runs in FOLDER that are there already are used
again. Every figure is of `plimsoll evaluate`.
"""

import json
import re
import statistics
import subprocess
import sys
from pathlib import Path

import report

ATTACKS = "DoS,fuzzing,spoofing,replay,suppression,injection,flooding"
KNOWN_IDS = "spoofing,replay,suppression,injection,flooding"
SETS = {  # name: (below CAPTURES, options of ingest)
    "hcrl_sa": ("can/hcrl_sa", []),
    "set_01": ("can/set_01", []),
    "set_03": ("can/set_03", []),
    "set_04": ("can/set_04", []),
    "daga": ("can-daga-v40", ["--columns", "time,id,length,payload,-,label", "--length", "bits"]),
    "crysys": ("can-crysys", ["--attack-label", "1"]),
    "road": ("can-road-masquerade", ["--columns", "id,byte*8,label", "--id", "dec", "--time", "none"]),
    "maritime": ("can-maritime", ["--columns", "-*2,time,id,-*2,length,payload", "--separator", "tab",
                                  "--time", "timeofday"]),
    "j1939": ("can-j1939-truck/normal.log.zst", []),
}
CRYSYS = ["S-1-1-benign.log.zst", "S-1-1-malicious-CONST-msg-mod-0x410.log.zst"]  # two of its files are one recording
MODELS = {  # name: (recipe, data, overrides)
    "known": ("known", "hcrl_sa", []),
    "kia+sonata": ("transfer", "hcrl_sa+", []),
    "set_01": ("transfer", "set_01+", []),
    "set_03": ("transfer", "set_03+", []),
    "no DoS": ("transfer", "hcrl_sa+", ["split.leave_out=[DoS]"]),
    "no fuzzing": ("transfer", "hcrl_sa+", ["split.leave_out=[fuzzing]"]),
    "student": ("transfer", "hcrl_sa+", ["task=distillation", "vgae.preset=small", "teacher.gat.preset=large",
                                         "teacher.vgae.preset=large"]),
    "no targeted": ("transfer", "set_01+", ["split.leave_out=[targeted_payload_fuzzing]"]),
}
CASES = [  # case, goal, model, data, split, calibration, recording or all
    ("hcrl_sa test_01", ">= .998", "known", "hcrl_sa", "test_01_known_vehicle_known_attack", 0, None),
    ("hcrl_sa test_02, not calibrated", ">= .95", "known", "hcrl_sa", "test_02_unknown_vehicle_known_attack", 0, None),
    ("hcrl_sa test_02, calibrated", ">= .995", "kia+sonata", "hcrl_sa", "test_02_unknown_vehicle_known_attack", 200, None),
    ("DoS left out of training", ">= .98, AUC >= .998", "no DoS", "hcrl_sa+", "left out: DoS", 200, "DoS-kia"),
    ("fuzzing left out", ">= .98, AUC >= .998", "no fuzzing", "hcrl_sa+", "left out: fuzzing", 200, "fuzzing-sonata"),
    ("targeted payload fuzzing left out", ">= .98, AUC >= .998", "no targeted", "set_01+",
     "left out: targeted_payload_fuzzing", 200, None),
    ("set_01 test_01", ">= .985", "set_01", "set_01", "test_01_known_vehicle_known_attack", 200, None),
    ("set_01 test_04", ">= .92", "set_01", "set_01", "test_04_unknown_vehicle_unknown_attack", 500, None),
    ("set_03 test_01", ">= .995", "set_03", "set_03", "test_01_known_vehicle_known_attack", 200, None),
    ("set_01 test_01, trained on kia and sonata", "", "kia+sonata", "set_01", "test_01_known_vehicle_known_attack", 200, None),
    ("set_01 test_04, trained on kia and sonata", "", "kia+sonata", "set_01", "test_04_unknown_vehicle_unknown_attack", 500,
     None),
    ("set_03 test_01, trained on kia and sonata", "", "kia+sonata", "set_03", "test_01_known_vehicle_known_attack", 200, None),
    ("Volvo V40: DoS, replay, payload fuzzing", "", "kia+sonata", "daga", "can-daga-v40", 200, None),
]
POOLED = [  # row, data, split, calibration: all recordings of the split together
    ("gauges of set_03 test_03", "set_03", "test_03_known_vehicle_unknown_attack", 200),
    ("gauges of set_04", "set_04", "train_02_with_attacks", 200),
    ("V40: DoS of known IDs, ordered replay, payload fuzzing", "daga", "can-daga-v40", 200),
    ("hcrl_sa test_02", "hcrl_sa", "test_02_unknown_vehicle_known_attack", 200),
    ("set_01 test_01", "set_01", "test_01_known_vehicle_known_attack", 200),
    ("set_01 test_04", "set_01", "test_04_unknown_vehicle_unknown_attack", 500),
    ("set_03 test_01", "set_03", "test_01_known_vehicle_known_attack", 200),
    ("set_03 train_02", "set_03", "train_02_with_attacks", 200),
    ("ROAD", "road", "can-road-masquerade", 200),
    ("CrySyS", "crysys", "can-crysys", 200),
]
INJECTED = ["set_01", "set_03", "daga", "crysys"]  # vehicles that did not train
BENIGN = [("kia+sonata", "set_01", "train_01_attack_free"), ("kia+sonata", "set_03", "train_01_attack_free"),
          ("set_01", "hcrl_sa", "train_01_attack_free"), ("kia+sonata", "daga", "can-daga-v40"),
          ("kia+sonata", "crysys", "can-crysys"), ("kia+sonata", "maritime", "can-maritime"), ("kia+sonata", "j1939", "can-j1939-truck")]


class Bench:
    def __init__(self, captures, work, seeds):
        self.captures, self.work, self.seeds = captures, work, range(42, 42 + seeds)
        self.evaluations = {}

    def run(self, *arguments):
        result = subprocess.run([str(a) for a in (report.PLIMSOLL, *arguments)], capture_output=True, text=True)
        if result.returncode != 0:
            raise SystemExit(f"plimsoll {' '.join(map(str, arguments))}: {result.stderr}")
        return result.stdout

    def data(self, name):
        """A set of frames; `X+`: with attacks put into its benign recordings, `X!`: these alone, other ones, with known IDs."""
        folder = self.work / name
        if folder.exists():
            return folder
        if name[-1] in "+!":
            more = ["--keep", "--seed", 7, "--attacks", ATTACKS] if name[-1] == "+" else ["--seed", 3, "--attacks", KNOWN_IDS]
            self.run("simulate", "can", "--inject", self.data(name[:-1]), "--out", folder, "--target", "periodic",
                     "--label-silence", *more)
            return folder
        source, options = SETS[name]
        sources = [self.captures / source / file for file in CRYSYS] if name == "crysys" else [self.captures / source]
        self.run("ingest", "can", *sources, "--out", folder, *options)
        return folder

    def has(self, name):
        return (self.captures / SETS[name.rstrip("+!")][0]).exists()

    def trained(self, model, seed):
        recipe, data, overrides = MODELS[model]
        folder = self.work / f"run {model} {seed}"
        if not (folder / "detector.safetensors").exists():
            options = [option for override in overrides for option in ("-O", override)]
            file = self.work / "known.yaml"
            file.write_text((report.ROOT / "recipes" / "kdgat-demo.yaml").read_text().replace("task: distillation",
                                                                                             "task: detection"))
            if recipe == "transfer":
                file = report.ROOT / "recipes" / "transfer.yaml"
            self.run("train", file, "--data", self.data(data), "--run", folder, "--force", "-O", f"seed={seed}", *options)
        return folder

    def evaluated(self, model, seed, data, split, calibrate):
        """The split of an evaluation, with its ablation."""
        key = (model, seed, data, split, calibrate)
        if key not in self.evaluations:
            output = self.run("evaluate", self.trained(model, seed), "--data", self.data(data), "--split", split,
                              "--calibrate", calibrate, "--json", *(["--ablation"] if calibrate else []))
            self.evaluations[key] = json.loads(output)["splits"][0]
        return self.evaluations[key]

    def figures(self, case, name):
        """Of each seed the figures of a model or rule: at the lowest rate it has."""
        _, _, model, data, split, calibrate, recording = case
        found = []
        for seed in self.seeds:
            group = self.evaluated(model, seed, data, split, calibrate)
            if recording is not None:
                group = next(one for one in group["recordings"] if one["name"] == recording)
            rows = [row for row in group["models"] + group["rules"] if row["name"] == name]
            if rows:
                row = min(rows, key=lambda one: one.get("target_fpr") or 0)
                found.append(dict(row, graphs=group["graphs"], attack_graphs=group["attack_graphs"]))
        return found


def number(value, digits=3):
    return "-" if value is None else f"{value:.{digits}f}".replace("0.", ".", 1) if abs(value) < 1 else f"{value:.{digits}f}"


def middle(rows, key, digits=3):
    values = [row[key] for row in rows if row[key] is not None]
    return number(statistics.median(values), digits) if values else "-"


def worst(rows, key, choose, digits=3):
    values = [row[key] for row in rows if row[key] is not None]
    return number(choose(values), digits) if values else "-"


def table(head, rows):
    return "\n".join("| " + " | ".join(map(str, row)) + " |" for row in [head, ["---"] * len(head), *rows])


def cases(bench):
    rows = []
    for case in CASES:
        label, goal, model, data, split, calibrate, _ = case
        if not bench.has(data) or not bench.has(MODELS[model][1]):
            continue
        fused, alone, gat = (bench.figures(case, name) for name in ("fused", "statistics", "gat"))
        rule, timing = (bench.figures(case, name) for name in ("unknown_id", "timing"))
        spread = statistics.pstdev([row["f1"] for row in fused])
        rows.append([label, goal, calibrate or "-", f"{fused[0]['graphs']:,} / {fused[0]['attack_graphs']:,}",
                     f"**{middle(fused, 'f1')}** ({worst(fused, 'f1', min)}, ± {number(spread)})",
                     f"{middle(fused, 'fpr', 4)} ({worst(fused, 'fpr', max, 4)})", middle(fused, "auc", 4),
                     f"{middle(alone, 'f1')} / {middle(alone, 'fpr', 4)}" if alone else "-",
                     f"{middle(gat, 'f1')} / {middle(gat, 'fpr', 4)} / {middle(gat, 'auc', 4)}",
                     f"{middle(rule, 'f1')} / {middle(rule, 'fpr')}", f"{middle(timing, 'f1')} / {middle(timing, 'fpr')}"])
        print(rows[-1], flush=True)
    return table(["case", "goal F1", "calibration windows", "windows / attack", "fused F1: median (worst, spread)",
                  "FPR: median (worst)", "AUC", "statistics alone F1 / FPR", "GAT alone F1 / FPR / AUC", "ID rule F1 / FPR",
                  "timing rule F1 / FPR"], rows)


def known_ids(bench):
    rows = []
    for data in filter(bench.has, INJECTED):
        first = bench.data(data + "!")
        recordings = json.loads((first / "manifest.json").read_text())["recordings"]
        split = recordings[0]["split"]
        per_attack = {}
        for seed in bench.seeds:
            for one in bench.evaluated("kia+sonata", seed, data + "!", split, 200)["attacks"]:
                for row in one["models"]:
                    per_attack.setdefault(one["name"], {}).setdefault(row["name"], []).append(dict(row, graphs=one["graphs"],
                                                                                                   attack_graphs=one["attack_graphs"]))
        for attack, by_name in per_attack.items():
            fused, alone, gat = by_name["fused"], by_name["statistics"], by_name["gat"]
            delays = [dict(value=row["delay"]["milliseconds"]) for row in fused]
            rows.append([data, attack, f"{fused[0]['graphs']:,} / {fused[0]['attack_graphs']:,}",
                         f"**{middle(fused, 'f1')}** ({worst(fused, 'f1', min)})", middle(fused, "recall"),
                         middle(fused, "fpr", 4), middle(fused, "auc", 4), middle(delays, "value", 0),
                         f"{middle(alone, 'f1')} / {middle(alone, 'fpr', 4)}", f"{middle(gat, 'f1')} / {middle(gat, 'fpr', 4)}"])
            print(rows[-1], flush=True)
    return table(["vehicles", "attack", "windows / attack", "fused F1: median (worst)", "recall", "FPR", "AUC", "delay ms",
                  "statistics alone F1 / FPR", "GAT alone F1 / FPR"], rows)


def false_alarms(bench):
    rows = []
    for model, data, split in BENIGN:
        if not bench.has(data):
            continue
        by_recording = {}
        for seed in bench.seeds:
            for one in bench.evaluated(model, seed, data, split, 1_000_000)["recordings"]:
                if one["attack_graphs"] == 0:
                    by_recording.setdefault(one["name"], []).append(one)
        for name, groups in by_recording.items():
            cells = []
            for part in ("fused", "statistics", "gat"):
                alarms = [next(row for row in group["models"] if row["name"] == part)["confusion"]["fp"] for group in groups]
                cells.append(f"{statistics.median(alarms):g} ({max(alarms)})")
            windows = groups[0]["graphs"]
            fused = [next(row for row in group["models"] if row["name"] == "fused") for group in groups]
            hourly = [row["false_alarms_per_hour"] for row in fused if row["false_alarms_per_hour"] is not None]  # none without times
            often = f"{statistics.median(hourly):,.1f} ({24 * statistics.median(hourly):,.0f})" if hourly else "-"
            rows.append([data, name, f"{windows // 2:,}", f"{windows:,}", *cells, middle(fused, "fpr", 4), often])
            print(rows[-1], flush=True)
    return table(["data", "recording", "calibration windows", "windows judged", "fused: false alarms, median (most)",
                  "statistics alone", "GAT alone", "fused FPR", "fused: false alarms an hour (a day)"], rows)


def masquerade(bench):
    rows = []
    for data, split in (("road", "can-road-masquerade"), ("crysys", "can-crysys")):
        if not bench.has(data):
            continue
        by_recording = {}
        for seed in bench.seeds:
            for one in bench.evaluated("kia+sonata", seed, data, split, 200)["recordings"]:
                if one["attack_graphs"] > 0:
                    by_recording.setdefault(one["name"], []).append(one)
        for name, groups in by_recording.items():
            cells = []
            for part in ("fused", "statistics", "gat"):
                found = [next(row for row in group["models"] if row["name"] == part) for group in groups]
                cells.append(f"{middle(found, 'auc')} / {middle(found, 'recall')} / {middle(found, 'fpr', 4)}")
            rows.append([name, f"{groups[0]['graphs']:,} / {groups[0]['attack_graphs']:,}", *cells])
    return table(["recording", "windows / attack", "fused AUC / recall / FPR", "statistics alone", "GAT alone"], rows)


def pooled(bench, model="kia+sonata"):
    """All recordings of a split as one: what is found, and what is a false alarm."""
    rows = []
    for label, data, split, calibrate in filter(lambda row: bench.has(row[1]), POOLED):
        groups = [bench.evaluated(model, seed, data, split, calibrate) for seed in bench.seeds]
        found = [next(row for row in group["models"] if row["name"] == "fused") for group in groups]
        alarms = [row["confusion"]["fp"] for row in found]
        rows.append([label, f"{groups[0]['graphs']:,} / {groups[0]['attack_graphs']:,}",
                     *(f"{middle(found, key)} ({worst(found, key, min)})" for key in ("f1", "recall")),
                     f"{statistics.median(alarms):g} ({max(alarms)})", f"{middle(found, 'auc', 4)} ({worst(found, 'auc', min, 4)})"])
        print(rows[-1], flush=True)
    return table(["row", "windows / attack", "F1: median (worst)", "recall", "false alarms", "AUC"], rows)


def ablation(bench):
    """What each part contributes: the cases that are calibrated, without it."""
    rows = []
    for case in CASES:
        if case[5] == 0 or not bench.has(case[3]) or not bench.has(MODELS[case[2]][1]):
            continue
        names = [row["name"] for row in bench.evaluated(*case[2:3], 42, *case[3:6])["models"] if row["name"].startswith("fused")]
        cells = []
        for name in names:
            found = bench.figures(case, name)
            cells.append(f"{middle(found, 'f1')} / {middle(found, 'fpr', 4)}")
        rows.append([case[0], *cells])
    return table(["case", *(name.removeprefix("fused-") for name in names)], rows)


def trees(bench):
    """Gradient-boosted trees on the same features, trained on the same windows."""
    recipe = (report.ROOT / "recipes" / "transfer.yaml").read_text()
    without = re.sub(r"\s", "", re.search(r"without: \[([^]]*)\]", recipe)[1])
    rows = []
    known = [(f"{data}, {KNOWN_IDS.replace(',', ', ')}", "", "kia+sonata", data + "!", None, 200, None)
             for data in INJECTED if bench.has(data)]
    for label, _, model, data, split, calibrate, recording in CASES + known:
        trained = MODELS[model][1]
        if calibrate == 0 or not bench.has(data) or not bench.has(trained):
            continue
        for name in {trained, data}:
            windows = 200 if name == trained else calibrate
            folder = bench.work / f"graphs {name} {windows}"
            if not folder.exists():
                bench.run("windows", bench.data(name), "--features", "behaviour", "--calibrate", windows, "--out", folder)
        if split is None:
            split = json.loads((bench.data(data) / "manifest.json").read_text())["recordings"][0]["split"]
        options = ["--split", split]
        if split.startswith("left out"):
            options = ["--leave-out", split.removeprefix("left out: ")]
        if recording is not None:
            options += ["--recording", recording]
        windows = 200 if data == trained else calibrate
        found = json.loads(report.timed([report.PYTHON, report.ROOT / "bench" / "peers" / "detection.py", "--trained",
                                         bench.work / f"graphs {trained} 200", "--judged",
                                         bench.work / f"graphs {data} {windows}", "--without", without, "--calibration",
                                         calibrate, *options])[2])
        case = (label, "", model, data, split, calibrate, recording)
        fused, gat = bench.figures(case, "fused"), bench.figures(case, "gat")
        rows.append([label, f"{number(found['f1'])} / {number(found['fpr'], 4)} / {number(found['auc'], 4)}",
                     f"{middle(gat, 'f1')} / {middle(gat, 'fpr', 4)} / {middle(gat, 'auc', 4)}",
                     f"{middle(fused, 'f1')} / {middle(fused, 'fpr', 4)} / {middle(fused, 'auc', 4)}"])
        print(rows[-1], flush=True)
    return table(["case", "boosted trees F1 / FPR / AUC", "GAT alone, median seed", "fused, median seed"], rows)


def main():
    seeds = int(sys.argv[sys.argv.index("--seeds") + 1]) if "--seeds" in sys.argv else 5
    bench = Bench(Path(sys.argv[1]), Path(sys.argv[2]), seeds)
    results = report.ROOT / "bench" / "results" / "detection.md"
    command = "```\nbench/detection.sh\n```\n"
    protocol = (f"{seeds} seeds, the median counts. Windows of 100 frames, stride 100. Levels of the fused score at 0.1 % of benign "
                "calibration windows, or, where nothing is calibrated, of benign validation windows of the training vehicles.\n\n")
    sections = {
        "Cases": lambda: f"{command}\n{protocol}{cases(bench)}",
        "Attacks that use known IDs": lambda: known_ids(bench),
        "False alarms": lambda: false_alarms(bench),
        "Masquerade": lambda: masquerade(bench),
        "Pooled": lambda: pooled(bench),
        "The distilled student": lambda: pooled(bench, "student"),
        "Ablation": lambda: ablation(bench),
        "Boosted trees": lambda: trees(bench),
    }
    wanted = sys.argv[sys.argv.index("--sections") + 1].split(",") if "--sections" in sys.argv else sections
    for name in wanted:
        report.write_section(name, sections[name](), results)


if __name__ == "__main__":
    main()
