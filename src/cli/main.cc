#include <unistd.h>

#include <cstdlib>
#include <filesystem>
#include <functional>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "cli/command.h"
#include "cli/python_verbs.h"
#include "cli/train_options.h"
#include "cli/verbs.h"
#include "memory/c_heap.h"

namespace plimsoll {
namespace {

// Replaces this process by plimsoll-train with the same arguments: the one next to this program, or the one
// that PLIMSOLL_TRAINER names. The Python package has one for each torch, or explains in PLIMSOLL_NO_TRAINER
// why it has none.
[[noreturn]] void become_trainer(char** argv) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const char* given = std::getenv("PLIMSOLL_TRAINER");
  const std::filesystem::path trainer = given != nullptr ? given : self.parent_path() / "plimsoll-train";
  ::setenv(kBuildVariable, build_id(), 1);
  ::execv(trainer.c_str(), argv);
  if (const char* why = std::getenv("PLIMSOLL_NO_TRAINER")) throw Failure(why);
  throw Failure(trainer.string() +
                " cannot be started; build it with torch (make build), it does all training");
}

// Whether a launcher, torchrun or srun, started this process as one of several; the same test as place() of
// the package.
bool is_a_rank() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  const auto is_more_than_one = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && std::atoi(value) > 1;
  };
  return (is_set("RANK") && is_more_than_one("WORLD_SIZE")) ||
         (is_set("SLURM_PROCID") && is_more_than_one("SLURM_STEP_NUM_TASKS"));
}

// The function that adds the verbs of these names.
struct Verbs {
  std::vector<std::string_view> names;
  std::function<void(CLI::App&)> add;
};

std::vector<Verbs> all_verbs(char** argv) {
  // Errors of the recipe are reported before torch is loaded.
  const auto train = [argv](const auto& options) {
    load_recipe(options.recipe, options.overrides);
    become_trainer(argv);
  };
  // torch's Python makes the process groups, and the floor of a rank is that of Python.
  const auto share = [argv, train](const auto& options, bool is_shared) {
    if (!is_shared) return train(options);
    load_recipe(options.recipe, options.overrides);
    become_python(argv);
  };
  const auto judge = [argv](const auto& options) {
    if (options.ranks > 1 || is_a_rank()) become_python(argv);
    become_trainer(argv);
  };
  return {
      {{"ingest"}, add_ingest},
      {{"simulate"}, add_simulate},
      {{"split-edges"}, add_split_edges},
      {{"walks"}, add_walks},
      {{"import", "export", "sync"}, [argv](CLI::App& app) { add_python_verbs(app, argv); }},
      {{"merge"}, add_merge},
      {{"inspect"}, add_inspect},
      {{"verify"}, add_verify},
      {{"stage"}, add_stage},
      {{"recipes"}, add_recipes},
      {{"job-report"}, add_job_report},
      {{"plan"},
       [share](CLI::App& app) {
         add_plan(app, [share](const PlanOptions& options) { share(options, options.ranks > 1); });
       }},
      {{"train"},
       [share](CLI::App& app) {
         add_train(
             app, [share](const TrainOptions& options) { share(options, options.ranks > 1 || is_a_rank()); });
       }},
      {{"slurm"}, [train](CLI::App& app) { add_slurm(app, train); }},
      {{"evaluate"}, [judge](CLI::App& app) { add_evaluate(app, judge); }},
      {{"predict"}, [judge](CLI::App& app) { add_predict(app, judge); }},
      {{"top"}, add_top},
      {{"compare"}, add_compare},
#ifdef PLIMSOLL_CAN
      {{"windows"}, add_windows},
      {{"convert"}, [argv](CLI::App& app) { add_convert(app, argv); }},
      {{"check"}, add_check},
      {{"calibrate"}, add_calibrate},
      {{"detect"}, add_detect},
      {{"detector"}, add_detector},
#endif
  };
}

// Adds only the verb that is used, because the options of all take 0.2 MiB of a budget; adds all if none is
// used.
void add_verbs(CLI::App& app, int argc, char** argv) {
  const std::vector<Verbs> all = all_verbs(argv);
  for (const Verbs& verbs : all)
    for (const std::string_view name : verbs.names)
      if (argc > 1 && name == argv[1]) return verbs.add(app);
  for (const Verbs& verbs : all) verbs.add(app);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  plimsoll::return_large_buffers();
  CLI::App app("Train graph neural networks inside a stated memory budget.", "plimsoll");
  plimsoll::add_verbs(app, argc, argv);
  return plimsoll::run_command(app, argc, argv);
}
