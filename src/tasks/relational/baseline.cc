#include "tasks/relational/baseline.h"

#include <fmt/format.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <vector>

#include "base/error.h"
#include "base/interrupt.h"
#include "io/npy.h"
#include "run/python_program.h"

namespace plimsoll {
namespace {

// Runs a program that shares the terminal, and returns its exit code; -1 if it was ended by a signal.
int run_program(const std::vector<std::string>& words) {
  std::vector<char*> arguments;
  for (const std::string& word : words) arguments.push_back(const_cast<char*>(word.c_str()));
  arguments.push_back(nullptr);
  int process = 0;
  if (const int error =
          posix_spawnp(&process, arguments.front(), nullptr, nullptr, arguments.data(), environ);
      error != 0)
    throw UsageError(
        fmt::format("--baseline: {}: {}; set PLIMSOLL_PYTHON to a Python interpreter that has the "
                    "package (pip install plimsoll[baseline])",
                    words.front(), std::strerror(error)));
  int status = 0;
  while (::waitpid(process, &status, 0) < 0)
    if (errno != EINTR) throw system_failure("cannot wait for", words.front());
  return WIFEXITED(status) ? WEXITSTATUS(status) : -1;
}

}  // namespace

void train_baseline(const RunEvaluation& asked) {
  int code = 0;
  if (rank_of(asked.exchange) == 0)
    code = run_program({python_program(), "-m", "plimsoll.baseline",
                        std::filesystem::absolute(asked.folder.root).string(), "--data",
                        std::filesystem::absolute(asked.data).string(), "--threads",
                        std::to_string(asked.memory.threads)});
  barrier(asked.exchange);
  throw_if_interrupted("LightGBM was trained");  // A terminal sends the signal to both processes.
  if (code != 0)
    throw UsageError(fmt::format(
        "--baseline: `{} -m plimsoll.baseline` failed ({}); its message is above. It needs the package with "
        "LightGBM: pip install plimsoll[baseline]",
        python_program(), code < 0 ? "ended by a signal" : fmt::format("exit code {}", code)));
}

Vector<float, Tag::columns> baseline_predictions(const RunFolder& folder, const std::string& split,
                                                 int64_t seeds, int64_t outputs) {
  const std::filesystem::path path = folder.root / "baseline" / (split + ".npy");
  const NpyView file(path);
  const std::span<const float> found = file.values<float>();
  if (std::ssize(found) != seeds * outputs)
    throw InputError(
        fmt::format("{}: found {} numbers, expected {} for each of {} seeds; run `plimsoll "
                    "evaluate --baseline` again",
                    path.string(), found.size(), outputs, seeds));
  return {found.begin(), found.end()};
}

}  // namespace plimsoll
