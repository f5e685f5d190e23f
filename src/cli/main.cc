#include <unistd.h>

#include <algorithm>
#include <cstdlib>
#include <filesystem>
#include <iterator>
#include <string>
#include <string_view>
#include <vector>

#include "base/error.h"
#include "base/words.h"
#include "cli/command.h"
#include "cli/python_verbs.h"
#include "cli/train_options.h"
#include "cli/verbs.h"
#include "memory/c_heap.h"
#ifdef PLIMSOLL_CAN
#include "can/recipe/can_sections.h"
#endif

namespace plimsoll {
namespace {

// Replaces this process with plimsoll-train, with the same arguments: the program that PLIMSOLL_TRAINER names
// or, by default, the one next to this program. The Python package has one for each version of torch; if it
// has none, it explains why in PLIMSOLL_NO_TRAINER.
[[noreturn]] void become_trainer(char** argv) {
  const std::filesystem::path self = std::filesystem::read_symlink("/proc/self/exe");
  const char* given = std::getenv("PLIMSOLL_TRAINER");
  const std::filesystem::path trainer = given != nullptr ? given : self.parent_path() / "plimsoll-train";
  ::setenv(kBuildVariable, build_id(), 1);
  ::execv(trainer.c_str(), argv);
  if (const char* why = std::getenv("PLIMSOLL_NO_TRAINER")) throw Failure(why);
  throw Failure(trainer.string() +
                " cannot be started, but training needs it; build it with torch (make build)");
}

// Whether a launcher (torchrun or srun) started this process as one of several; place() of the Python package
// does the same check.
bool is_a_rank() {
  const auto is_set = [](const char* name) { return std::getenv(name) != nullptr; };
  const auto is_more_than_one = [](const char* name) {
    const char* const value = std::getenv(name);
    return value != nullptr && std::atoi(value) > 1;
  };
  return (is_set("RANK") && is_more_than_one("WORLD_SIZE")) ||
         (is_set("SLURM_PROCID") && is_more_than_one("SLURM_STEP_NUM_TASKS"));
}

// Whether the verb has to run in a Python process.
template <typename Options>
bool is_for_python(const Options& options, RunsIn where) {
  if constexpr (requires { options.ranks; })
    return (where != RunsIn::trainer && options.ranks > 1) ||
           (where == RunsIn::python_as_rank && is_a_rank());
  return false;
}

std::vector<Verb> all_verbs(char** argv);

// Throws UsageError if the command of a job does not start with the name of a verb.
void require_verb(const std::vector<std::string>& command, char** argv) {
  if (command.empty()) return;
  std::vector<std::string_view> names;
  for (const Verb& verb : all_verbs(argv)) names.insert(names.end(), verb.names.begin(), verb.names.end());
  if (std::ranges::find(names, command.front()) == names.end())
    throw unknown_word("the verb after --", command.front(), names);
}

// The table of verbs, in the order of the help.
std::vector<Verb> all_verbs(char** argv) {
  const auto run_elsewhere = [argv](const auto& options, RunsIn where) {
    // Errors of the recipe are reported before torch is loaded.
    if constexpr (requires { options.recipe; })
      if (!options.recipe.empty()) load_recipe(options.recipe, options.overrides);
    if constexpr (requires { options.command; }) require_verb(options.command, argv);
    if (is_for_python(options, where)) become_python(argv);
    become_trainer(argv);
  };
  std::vector<Verb> verbs = {
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
  };
  std::ranges::move(trainer_verbs(run_elsewhere), std::back_inserter(verbs));
  verbs.push_back({{"top"}, add_top});
  verbs.push_back({{"compare"}, add_compare});
#ifdef PLIMSOLL_CAN
  std::ranges::move(can_verbs(argv), std::back_inserter(verbs));
#endif
  return verbs;
}

// Adds only the verb that the arguments name, because the options of all verbs would use 0.2 MiB of the
// budget. Adds all verbs if the arguments name none.
void add_verbs(CLI::App& app, int argc, char** argv) {
  const std::vector<Verb> all = all_verbs(argv);
  for (const Verb& verb : all)
    for (const std::string_view name : verb.names)
      if (argc > 1 && name == argv[1]) return verb.add(app);
  for (const Verb& verb : all) verb.add(app);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  plimsoll::return_large_buffers();
#ifdef PLIMSOLL_CAN
  plimsoll::register_can_recipe();
#endif
  CLI::App app("Train graph neural networks within a memory budget.", "plimsoll");
  plimsoll::add_verbs(app, argc, argv);
  return plimsoll::run_command(app, argc, argv);
}
