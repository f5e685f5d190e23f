#include "config/foreign_names.h"

#include <algorithm>
#include <array>
#include <vector>

#include "config/recipe.h"

namespace plimsoll {
namespace {

constexpr std::string_view kAlwaysTheBest = "nothing: the weights with the lowest validation loss are kept";
constexpr std::string_view kSameBits = "nothing: a run gives the same bits each time";

// One line per name, in the order of docs/from-kdgat.md.
constexpr auto kForeignNames = std::to_array<ForeignName>({
    // Memory.
    {"safety_factor", "", "nothing: --budget is kept exactly, so no share of memory is left idle"},
    {"target_utilization", "", "nothing: --budget is kept exactly, so no share of memory is left idle"},
    {"optimize_batch_size", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"batch_size_mode", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"min_batch_size", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"max_batch_size", "", "training.batch_size: any size fits, blocks bound the memory"},
    {"dynamic_batching", "",
     "training.block: a block is closed at its limit of graphs, nodes or edges, whichever is reached first"},
    {"memory_estimation", "", "memory.estimation: static, measured or trial; `plimsoll plan` prints it"},
    {"clear_cache_every_n", "", "nothing: memory is planned, there is no cache to clear"},
    {"accumulate_grad_batches", "", "training.batch_size: batches are cut into blocks and summed exactly"},
    {"accumulation_steps", "", "training.batch_size: batches are cut into blocks and summed exactly"},
    {"precision", "",
     "training.precision: 32, or bf16-mixed and 16-mixed on a GPU; on the CPU other precisions are slower, "
     "and training.block saves the memory"},
    {"memory_budget_kb", "", "--budget"},
    {"mem", "", "--budget; without it the limits of SLURM and of cgroups are detected and kept"},
    {"mmap", "", "nothing: data sets are mapped, and opening one needs no memory"},
    // Loading.
    {"num_workers", "", "--threads"},
    {"mp_start_method", "", "--threads: workers are threads and share mapped files"},
    {"prefetch_factor", "", "--prefetch"},
    {"pin_memory", "", "nothing: with --device cuda blocks are copied from pinned memory"},
    {"device", "", "--device cuda, with --device-budget 8GiB or 80%"},
    {"cudnn_benchmark", "", kSameBits},
    {"deterministic", "", kSameBits},
    // What is trained.
    {"stages", "", "--stage; without it a task runs all of its stages"},
    // Training.
    {"lr", "", "training.learning_rate"},
    {"gradient_clip", "", "training.gradient_clip_val"},
    {"use_scheduler", "", "training.schedule: constant, step, cosine or plateau"},
    {"scheduler_type", "", "training.schedule: constant, step, cosine or plateau"},
    {"scheduler_t_max", "", "nothing: a cosine ends with training.max_epochs"},
    {"scheduler_step_size", "", "training.schedule_epochs"},
    {"scheduler_gamma", "", "training.schedule_factor"},
    {"save_top_k", "", kAlwaysTheBest},
    {"monitor_metric", "", kAlwaysTheBest},
    {"monitor_mode", "", kAlwaysTheBest},
    {"curriculum_memory_multiplier", "", "nothing: the plan knows the batches of every stage"},
    // Watching a run.
    {"profile", "", "run.profile.active, or train --profile: steps are traced for Perfetto"},
    {"profile_steps", "", "run.profile.active: number of steps to trace"},
    {"log_every_n_steps", "", "nothing: RUN/metrics.csv has a line per epoch"},
    {"test_every_n_epochs", "", "plimsoll evaluate RUN --data DIR, also while the run trains"},
    {"run_test", "", "plimsoll evaluate RUN --data DIR"},
    {"eval_only", "", "plimsoll evaluate RUN --data DIR"},
    {"dry_run", "", "plimsoll plan RECIPE --data DIR"},
    // Data and places.
    {"experiment_root", "", "--run DIR"},
    {"model_save_dir", "", "--run DIR"},
    {"schema_version", "", "nothing: a recipe has no version, each key has a default"},
    {"config", "", "the recipe is the first argument: plimsoll train RECIPE"},
    {"override", "", "-O section.key=value"},
    {"local", "", "nothing: a run is one process, with --threads"},
});

std::vector<std::span<const ForeignName>>& registered_names() {
  static std::vector<std::span<const ForeignName>> all;
  return all;
}

// Calls search(names) for the names that other modules registered, then for the engine's names, until it
// finds something.
template <typename Search>
std::string_view first_found(Search&& search) {
  for (const std::span<const ForeignName> names : registered_names())
    if (const std::string_view found = search(names); !found.empty()) return found;
  return search(std::span<const ForeignName>(kForeignNames));
}

}  // namespace

void register_foreign_names(std::span<const ForeignName> names) {
  std::erase_if(registered_names(), [&](const auto& known) { return known.data() == names.data(); });
  registered_names().push_back(names);
}

std::string_view instead_of(std::string_view name, std::string_view value) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '-', '_');
  const std::string_view last = std::string_view(key).substr(key.rfind('.') + 1);
  const auto find = [&](auto is_called) {
    return first_found([&](std::span<const ForeignName> names) {
      const auto found = std::ranges::find_if(names, [&](const ForeignName& known) {
        return is_called(known.name) && (known.value.empty() || known.value == value);
      });
      return found == names.end() ? std::string_view() : found->instead;
    });
  };
  const std::string_view of_section =
      find([&](std::string_view known) { return known.ends_with('.') && (key + ".").starts_with(known); });
  return of_section.empty() ? find([&](std::string_view known) { return known == last; }) : of_section;
}

std::string keys_called(std::string_view name) {
  std::string called(name);
  std::replace(called.begin(), called.end(), '-', '_');
  Recipe recipe;
  const RecipeKeys all = recipe_keys(recipe);
  std::string keys;
  for (const RecipeKey& key : all.all()) {
    // A section may repeat another one under a different name.
    const size_t dot = key.name.find('.');
    const bool repeats = dot != std::string::npos && all.find(key.name.substr(dot + 1)) != nullptr;
    if (repeats || (key.name != called && !key.name.ends_with("." + called))) continue;
    keys += (keys.empty() ? "" : " or ") + key.name;
  }
  return keys;
}

}  // namespace plimsoll
