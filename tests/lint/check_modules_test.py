"""Every rule of scripts/check-modules fires on a small tree that breaks it, and only there."""

import subprocess
import sys
from pathlib import Path

import pytest

CHECK_MODULES = Path(__file__).resolve().parents[2] / "scripts" / "check-modules"
MODULES = """\
# a comment
base: | json threads
io: base | zstd
kernels: base
ops: kernels | torch
nn: ops | torch
engine/data: io
engine/plan: engine/data nn
cli: engine/plan nn io | cli11
unbuilt:
"""
CLEAN = {
    "base/json.h": "#include <nlohmann/json.hpp>\n#include <fmt/format.h>\n",
    "io/zstd.cc": '#include <zstd.h>\n#include <zstd_errors.h>\n#include "base/json.h"\n#include "io/zstd.h"\n',
    "io/format.cc": "#include <fmt/format.h>\n",
    "kernels/add.cu": '#include "base/json.h"\n#ifdef PLIMSOLL_CUDA\n#endif\n#if defined(__CUDACC__)\n#endif\n',
    "ops/add.h": "#include <ATen/core/Tensor.h>\n#include <c10/core/Allocator.h>\n",
    "ops/add.cc": '#include <torch/torch.h>\n#include "ops/add.h"\n#include "kernels/add.h"\n',
    "engine/data/split.h": '#include "io/format.h"\n',
    "engine/plan/deep/plan.cc": '#include "engine/data/split.h"\n#include "nn/gat.h"\n',
    "nn/gat.h": '#include <torch/types.h>\n#include "ops/add.h"\n',
    "cli/a.cc": '#include <CLI/CLI.hpp>\n#include "io/zstd.h"\n#include "nn/gat.h"\n#include "engine/plan/deep/plan.h"\n',
    "cli/b.cc": "#include <CLI/App.hpp>\n",
}


def check(tmp_path, files=None, modules=MODULES):
    """Writes CLEAN with `files` over it and returns the lines that check-modules prints."""
    (tmp_path / "cmake").mkdir()
    (tmp_path / "cmake" / "modules.txt").write_text(modules)
    for name, text in {**CLEAN, **(files or {})}.items():
        path = tmp_path / "src" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    done = subprocess.run([sys.executable, CHECK_MODULES, tmp_path], capture_output=True, text=True)
    assert done.stderr == ""
    assert done.returncode == (1 if done.stdout else 0)
    return done.stdout.splitlines()


def test_clean_tree_passes(tmp_path):
    assert check(tmp_path) == []


def test_this_checkout_passes():
    done = subprocess.run([sys.executable, CHECK_MODULES], capture_output=True, text=True)
    assert (done.stdout, done.returncode) == ("", 0)


def test_tree_without_modules_is_refused(tmp_path):
    done = subprocess.run([sys.executable, CHECK_MODULES, tmp_path], capture_output=True, text=True)
    assert done.returncode == 1 and "no cmake/modules.txt" in done.stderr


@pytest.mark.parametrize(
    "name, text, line, rule",
    [
        ("base/a.cc", '\n#include "io/zstd.h"\n', 2, "base may not include io"),
        ("io/sub/a.cc", '#include "kernels/add.h"\n', 1, "io may not include kernels"),
        ("base/a.h", '#include "json.h"\n', 1, '"json.h" does not start with a module'),
        ("base/a.h", '#include "nlohmann/json.hpp"\n', 1, "does not start with a module"),
        ("attic/a.cc", "", 1, "src/attic is not a module"),
        ("engine/a.cc", "", 1, "src/engine is not a module"),
        ("engine/data/b.cc", '#include "engine/plan/plan.h"\n', 1, "engine/data may not include engine/plan"),
        ("engine/data/b.cc", '#include "engine/split.h"\n', 1, "does not start with a module"),
        ("io/a.cc", "#include <CLI/CLI.hpp>\n", 1, "lacks cli11"),
        ("io/a.cc", "#include <xxhash.h>\n", 1, "lacks xxhash"),
        ("io/a.cc", "#include <zlib.h>\n", 1, "lacks zlib"),
        ("io/a.cc", "#include <yaml-cpp/yaml.h>\n", 1, "lacks yaml"),
        ("kernels/a.cc", "# include <ATen/ATen.h>\n", 1, "lacks torch"),
        ("kernels/a.cc", "#include <c10/util/Exception.h>\n", 1, "lacks torch"),
        ("io/zzz.cc", "\n\n#include <zstd.h>\n", 3, "wrapped once, in src/io/zstd.cc"),
        ("ops/a.h", "#include <torch/torch.h>\n", 1, "<torch/torch.h> in a header"),
        ("nn/a.cc", "#if 1\n#elif defined(PLIMSOLL_CUDA)\n#endif\n", 2, "PLIMSOLL_CUDA outside src/kernels and src/device"),
        ("nn/a.cc", "#ifndef __CUDACC__\n#endif\n", 1, "__CUDACC__ outside src/kernels and src/device"),
        ("io/a.cc", "#if 1 && \\\n  defined(__CUDACC__)\n#endif\n", 2, "__CUDACC__ outside src/kernels and src/device"),
        ("nn/a.cc", "auto x =\n    torch::randn({2});\n", 2, "torch::randn: no random function"),
    ],
)
def test_breach_is_named_with_its_line(tmp_path, name, text, line, rule):
    breaches = check(tmp_path, {name: text})
    assert len(breaches) == 1
    assert breaches[0].startswith(f"src/{name}:{line}: ")
    assert rule in breaches[0]


@pytest.mark.parametrize(
    "call",
    [
        "torch::rand({1})",
        "torch::rand_like(x)",
        "at::rand({1})",
        "at::dropout(x, 0.5, true)",
        "torch::dropout(x, 0.5, true)",
        "torch::bernoulli(x)",
        "at::bernoulli(x)",
        "torch::manual_seed(1)",
        "at::randperm(4)",
        "x.uniform_(0, 1)",
        "x->weight.normal_()",
        "x.bernoulli_ (0.5)",
        "torch::nn::Dropout(0.5)",
        "nn::FeatureAlphaDropout()",
        "F::dropout(x)",
    ],
)
def test_torch_random_functions_are_refused(tmp_path, call):
    breaches = check(tmp_path, {"ops/a.cc": f"auto y = {call};\n"})
    assert len(breaches) == 1 and breaches[0].startswith("src/ops/a.cc:1: ")


@pytest.mark.parametrize("call", ["std::stod(text)", "strtof(text, nullptr)", "std::ostringstream text", 'sscanf(text, "%d %lf", &i, &d)', 'printf("%.3g", d)'])
@pytest.mark.parametrize("folder", ["src/io", "bench"])
def test_what_follows_the_locale_is_refused(tmp_path, call, folder):
    path = tmp_path / folder / "a.cc"
    path.parent.mkdir(parents=True)
    path.write_text(f'// std::stod\n{call};\nprintf("%5d of %s", 1, text);\n')
    breaches = check(tmp_path)
    assert len(breaches) == 1 and breaches[0].startswith(f"{folder}/a.cc:2: ") and "locale" in breaches[0]


@pytest.mark.parametrize("lock", ["std::mutex mutex_", "std::shared_mutex mutex_", "std::condition_variable_any changed_",
                                  "const std::lock_guard lock(mutex_)", "std::unique_lock<Mutex>& lock"])
@pytest.mark.parametrize("folder", ["src/io", "python/src"])
def test_locks_without_annotations_are_refused(tmp_path, lock, folder):
    path = tmp_path / folder / "a.cc"
    path.parent.mkdir(parents=True)
    path.write_text(f"// std::mutex\n{lock};\n")
    breaches = check(tmp_path, {"base/mutex.h": "std::mutex mutex_;\n"})
    assert len(breaches) == 1 and breaches[0].startswith(f"{folder}/a.cc:2: ") and "base/mutex.h" in breaches[0]


def test_random_functions_are_free_elsewhere(tmp_path):
    assert check(tmp_path, {"io/a.cc": "x.uniform_(0, 1);\n"}) == []


@pytest.mark.parametrize("other", ["class Table {\n};\n", "struct Table : Base {};\n", "template <typename T>\nclass Table {};\n",
                                   "enum class Table : int { none };\n"])
def test_a_name_is_given_to_one_type(tmp_path, other):
    breaches = check(tmp_path, {"base/a.h": "class Table final {\n};\n", "io/b.h": other})
    assert len(breaches) == 1 and "Table is a type of src/base/a.h" in breaches[0]


def test_declarations_members_and_types_of_a_source_may_have_the_same_name(tmp_path):
    files = {"base/a.h": "class Table {\n  struct Row {};\n};\n",
             "io/b.h": "class Table;\nclass Other {\n  struct Row {};\n};\nstruct Table table_of(int rows) {}\n",
             "io/c.cc": "class Table {};\n"}
    assert check(tmp_path, files) == []


def test_comments_do_not_count_and_literals_hide_no_code(tmp_path):
    text = (
        '// #include "io/zstd.h", torch::randn\n'
        "/*\n#include <zlib.h>\n*/ int million = 1'000'000;\n"
        'auto url = "http://"; auto raw = R"x(/* " )x"; char quote = \'"\';\n'
        "x.normal_();  // at last\n"
    )
    breaches = check(tmp_path, {"ops/a.cc": text})
    assert len(breaches) == 1 and breaches[0].startswith("src/ops/a.cc:6: ")


@pytest.mark.parametrize(
    "line, rule",
    [
        ("odd base", "expected `module: modules | libraries`"),
        ("odd: attic", "attic is not a module"),
        ("odd: | boost", "unknown library boost"),
        ("odd: base", "odd includes no header of base"),
        ("odd: | zlib", "odd includes no header of zlib"),
        ("io: base | zstd", "module io has a line already"),
    ],
)
def test_bad_line(tmp_path, line, rule):
    breaches = check(tmp_path, modules=MODULES + line + "\n")
    assert len(breaches) == 1 and breaches[0].startswith("cmake/modules.txt:11: ") and rule in breaches[0]


@pytest.mark.parametrize(
    "lines, cycle",
    [
        ("one: two\ntwo: three\nthree: one\n", "one -> two -> three -> one"),
        ("one: one\n", "one -> one"),
    ],
)
def test_cycle(tmp_path, lines, cycle):
    assert f"cmake/modules.txt:11: modules in a cycle: {cycle}" in check(tmp_path, modules=MODULES + lines)
