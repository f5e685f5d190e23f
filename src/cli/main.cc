#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <string>

#include "base/error.h"
#include "cli/command.h"
#include "cli/train_options.h"
#include "cli/verbs.h"
#include "memory/c_heap.h"

namespace plimsoll {
namespace {

// Becomes plimsoll-train, which stands beside this program, with the same arguments.
[[noreturn]] void become_trainer(char** argv) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const std::filesystem::path trainer = self.parent_path() / "plimsoll-train";
  ::setenv(kBuildVariable, build_id(), 1);
  ::execv(trainer.c_str(), argv);
  throw Failure(trainer.string() +
                " cannot be started; build it with torch (make build), it does all training");
}

// gloo's process groups are made by Python, and a rank's floor is Python's.
void require_one_rank(const std::string& verb, int ranks) {
  if (ranks > 1)
    throw UsageError("ranks are processes of Python: give `python3 -m plimsoll " + verb +
                     "` the same arguments (docs/ranks.md)");
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  plimsoll::return_large_buffers();
  CLI::App app("Train graph neural networks inside a stated memory budget.", "plimsoll");
  plimsoll::add_ingest(app);
  plimsoll::add_simulate(app);
  plimsoll::add_split_edges(app);
  plimsoll::add_windows(app);
  plimsoll::add_inspect(app);
  plimsoll::add_verify(app);
  plimsoll::add_plan(app, [argv](const plimsoll::PlanOptions& options) {
    plimsoll::require_one_rank("plan", options.ranks);
    plimsoll::load_recipe(options.recipe, options.overrides);
    plimsoll::become_trainer(argv);
  });
  plimsoll::add_train(app, [argv](const plimsoll::TrainOptions& options) {
    plimsoll::require_one_rank("train", options.ranks);
    plimsoll::load_recipe(options.recipe, options.overrides);  // its errors come before torch is loaded
    plimsoll::become_trainer(argv);
  });
  plimsoll::add_evaluate(app, [argv](const plimsoll::EvaluateOptions&) { plimsoll::become_trainer(argv); });
  plimsoll::add_predict(app, [argv](const plimsoll::PredictOptions&) { plimsoll::become_trainer(argv); });
  plimsoll::add_calibrate(app);
  plimsoll::add_detect(app);
  return plimsoll::run_command(app, argc, argv);
}
