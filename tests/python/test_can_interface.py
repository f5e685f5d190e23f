"""`plimsoll detect` on a CAN interface: a real kernel's vcan, inside user-mode Linux (Debian: user-mode-linux kmod can-utils
iproute2); skipped where that is not installed."""

import json
import shutil
import subprocess

import pytest

NEEDED = ["linux.uml", "candump", "canplayer", "cansend", "ip", "insmod"]
INIT = """#!/bin/sh
export PATH=/usr/sbin:/usr/bin:/sbin:/bin
mount -t proc proc /proc
grep -q 'User Mode Linux' /proc/cpuinfo || exit 1
mount -t sysfs sys /sys
m=/usr/lib/uml/modules/$(uname -r)/kernel
for module in net/can/can.ko net/can/can-raw.ko drivers/net/can/dev/can-dev.ko drivers/net/can/vcan.ko; do
  insmod $m/$module
done
ip link add dev vcan0 type vcan
ip link set vcan0 mtu 72 up
cd FOLDER
echo yes > started.txt
COMMANDS
poweroff -f
"""


@pytest.fixture
def inside(tmp_path):
    """inside(commands): runs them where there is a vcan0, in a folder of this test, as root."""
    missing = [program for program in NEEDED if shutil.which(program, path="/usr/sbin:/usr/bin:/sbin:/bin") is None]
    if missing:
        pytest.skip(f"not installed: {' '.join(missing)} (apt install user-mode-linux kmod can-utils iproute2)")

    def start(commands):
        init = tmp_path / "init.sh"
        init.write_text(INIT.replace("FOLDER", str(tmp_path)).replace("COMMANDS", commands))
        init.chmod(0o755)
        try:
            subprocess.run(["linux.uml", "mem=128M", "root=/dev/root", "rootfstype=hostfs", "rootflags=/", "rw",
                            f"init={init}", "con=null", "con0=null,fd:1", "quiet"],
                           stdin=subprocess.DEVNULL, capture_output=True, timeout=120, check=False)
        except subprocess.TimeoutExpired:
            if (tmp_path / "started.txt").exists():
                raise
        if not (tmp_path / "started.txt").exists():
            pytest.skip("user-mode Linux does not start on this processor (6.1 cannot keep the registers of AMX)")

    return start


@pytest.fixture(scope="module")
def model(run, tmp_path_factory):
    folder = tmp_path_factory.mktemp("interface")
    run("plimsoll", "simulate", "can", "--out", folder / "frames", "--frames", "40000", "--seed", "5")
    run("plimsoll", "simulate", "can", "--out", folder / "candump", "--format", "candump", "--frames", "40000", "--seed", "5")
    (folder / "recipe.yaml").write_text("task: detection\ndata: {features: behaviour}\n"
                                        "training: {max_epochs: 1, batch_size: 64}\ngat: {hidden: 8, heads: 2}\n")
    run("plimsoll", "train", folder / "recipe.yaml", "--data", folder / "frames", "--run", folder / "run")
    return folder


def test_frames_of_an_interface_have_the_verdicts_of_its_candump(inside, model, bin_dir, tmp_path):
    log = max(sorted(model.glob("candump/**/*.log")), key=lambda file: file.stat().st_size)
    channel = log.read_text().split(None, 2)[1]
    lines = log.read_text().splitlines()[:3000]
    assert len(lines) == 3000
    (tmp_path / "play.log").write_text("\n".join(lines) + "\n")
    detect = f"{bin_dir}/plimsoll detect {model}/run/detector.safetensors"
    inside(f"""
candump -L -r 4194304 vcan0 > seen.log 2> candump.txt &
candump=$!
{detect} vcan0 --all --json --payload 8 > lines.jsonl 2> errors.txt &
detect=$!
sleep 1
canplayer -I play.log vcan0={channel}
cansend vcan0 '123##1112233445566778899'
sleep 1
kill -INT $detect
wait $detect
echo $? > code.txt
kill $candump
wait $candump
sync
""")
    assert (tmp_path / "errors.txt").read_text() == ""
    assert (tmp_path / "code.txt").read_text().strip() == "0"
    live = [json.loads(line) for line in (tmp_path / "lines.jsonl").read_text().splitlines()]
    summary = live.pop()["summary"]
    assert summary["frames"] == 3000 and summary["dropped_frames"] == 0
    assert summary["malformed"] == {"a payload of at most 8 bytes": 1}  # the CAN FD frame
    seen = (tmp_path / "seen.log").read_text().splitlines()
    (tmp_path / "seen.log").write_text("\n".join(line for line in seen if "##" not in line) + "\n")
    done = subprocess.run([*detect.split(), str(tmp_path / "seen.log"), "--all", "--json"], capture_output=True, check=True)
    replayed = [json.loads(line) for line in done.stdout.splitlines()][:-1]
    assert len(live) == len(replayed) == 30
    for a, b in zip(live, replayed):
        assert a["score"] == pytest.approx(b["score"], abs=2e-3)  # candump writes microseconds, the kernel has nanoseconds
        assert [node["id"] for node in a["nodes"]][:1] == [node["id"] for node in b["nodes"]][:1]
        assert abs(a["time_ns"] - b["time_ns"]) < 10_000


def test_an_interface_that_is_down_or_goes_away_is_an_error(inside, model, bin_dir, tmp_path):
    detect = f"{bin_dir}/plimsoll detect {model}/run/detector.safetensors"
    inside(f"""
ip link set vcan0 down
{detect} vcan0 > down.txt 2>&1
echo $? >> down.txt
ip link set vcan0 up
{detect} vcan0 > gone.txt 2>&1 &
sleep 1
ip link del vcan0
wait %1
echo $? >> gone.txt
sync
""")
    for file in ("down.txt", "gone.txt"):
        *text, code = (tmp_path / file).read_text().splitlines()
        assert code == "1" and text[-1].startswith("plimsoll: vcan0: ")


def test_a_system_without_can_says_so(model, bin_dir):
    done = subprocess.run([str(bin_dir / "plimsoll"), "detect", f"{model}/run/detector.safetensors", "lo"],
                          capture_output=True, text=True, timeout=60)
    assert done.returncode == 1 and "lo: " in done.stderr
