"""`train --stage` by the names that a plan and the folder of a run show."""

import json
import subprocess


def test_scores_and_outputs_name_the_stages_of_their_columns(bin_dir, run, tmp_path):
    run("plimsoll", "simulate", "can", "--out", tmp_path / "frames", "--frames", 9000, "--seed", 1)

    def train(stage, code=0):
        words = ("train", "kdgat", "--data", tmp_path / "frames", "--run", tmp_path / "run", "--stage", stage, "--resume",
                 "-O", "training.max_epochs=1")
        done = subprocess.run([bin_dir / "plimsoll", *words], capture_output=True, text=True, timeout=600)
        assert done.returncode == code, done.stderr
        return done

    for stage, column in (("autoencoder", None), ("scores", "difficulty"), ("outputs", "teacher_encodings")):
        train(stage, code=0 if stage != "outputs" else 3)  # The logits of `outputs` need a teacher.
        columns = tmp_path / "run" / "seed-42" / "columns"
        assert column is None or any(path.name.startswith(column) for path in columns.rglob("*")), [*columns.rglob("*")]
    unknown = train("score", code=2).stderr
    assert "it has autoencoder, difficulty, scores, teacher_encodings, outputs, teacher," in unknown, unknown
    assert json.loads((tmp_path / "run" / "manifest.json").read_text())["kind"] == "run"
