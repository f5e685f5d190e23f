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
    {"memory_estimation", "", "memory.estimation: static, measured or trial; `plimsoll plan` prints it",
     "memory.estimation"},
    {"clear_cache_every_n", "", "nothing: memory is planned, there is no cache to clear"},
    {"accumulate_grad_batches", "", "training.batch_size: batches are cut into blocks and summed exactly"},
    {"accumulation_steps", "", "training.batch_size: batches are cut into blocks and summed exactly"},
    {"precision", "",
     "training.precision: 32, or bf16-mixed and 16-mixed on a GPU; on the CPU other precisions are slower, "
     "and training.block saves the memory",
     "training.precision"},
    {"memory_budget_kb", "", "--budget"},
    {"mem", "", "--budget; without it the limits of SLURM and of cgroups are detected and kept"},
    {"mmap", "", "nothing: data sets are mapped, and opening one needs no memory"},
    // Loading.
    {"num_workers", "", "--threads"},
    {"mp_start_method", "", "--threads: workers are threads and share mapped files"},
    {"prefetch_factor", "", "--prefetch"},
    {"pin_memory", "", "nothing: with --device cuda blocks are copied from pinned memory"},
    {"device", "", "--device cuda, with --device-budget 8GiB or 80%"},
    {"accelerator", "", "--device cuda, with --device-budget 8GiB or 80%"},
    {"devices", "", "--ranks, one for each GPU"},
    {"num_nodes", "", "--ranks: `plimsoll slurm --ranks N` prints a job"},
    {"cudnn_benchmark", "", kSameBits},
    {"deterministic", "", kSameBits},
    // What is trained.
    {"stages", "", "--stage; without it a task runs all of its stages"},
    // Variables of shell scripts that train SGMP.
    {"hidden_channels", "", "paths.hidden, or gnn.hidden for a model without paths", "paths.hidden"},
    {"num_interactions", "", "paths.layers", "paths.layers"},
    {"num_rbf_centers", "", "paths.centers", "paths.centers"},
    {"num_epochs", "", "training.max_epochs", "training.max_epochs"},
    {"pytorch_cuda_alloc_conf", "",
     "nothing: blocks have planned places in one region, so nothing fragments"},
    // Training.
    {"lr", "", "training.learning_rate", "training.learning_rate"},
    {"gradient_clip", "", "training.gradient_clip_val", "training.gradient_clip_val"},
    {"use_scheduler", "", "training.schedule: constant, step, cosine or plateau"},
    {"scheduler_type", "", "training.schedule: constant, step, cosine or plateau", "training.schedule"},
    {"scheduler_t_max", "", "nothing: a cosine ends with training.max_epochs"},
    {"scheduler_step_size", "", "training.schedule_epochs", "training.schedule_epochs"},
    {"scheduler_gamma", "", "training.schedule_factor", "training.schedule_factor"},
    {"save_top_k", "", kAlwaysTheBest},
    {"monitor_metric", "", kAlwaysTheBest},
    {"monitor_mode", "", kAlwaysTheBest},
    {"curriculum_memory_multiplier", "", "nothing: the plan knows the batches of every stage"},
    // Watching a run.
    {"profile", "", "run.profile.active, or train --profile: steps are traced for Perfetto"},
    {"profile_steps", "", "run.profile.active: number of steps to trace", "run.profile.active"},
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
const ForeignName* first_found(Search&& search) {
  for (const std::span<const ForeignName> names : registered_names())
    if (const ForeignName* const found = search(names); found != nullptr) return found;
  return search(std::span<const ForeignName>(kForeignNames));
}

// Returns the line for a key with this value; null if there is none.
template <typename IsCalled>
const ForeignName* find_line(const IsCalled& is_called, std::string_view value) {
  return first_found([&](std::span<const ForeignName> names) -> const ForeignName* {
    const auto found = std::ranges::find_if(names, [&](const ForeignName& known) {
      return is_called(known.name) && (known.value.empty() || known.value == value);
    });
    return found == names.end() ? nullptr : &*found;
  });
}

std::string with_underscores(std::string_view name) {
  std::string key(name);
  std::replace(key.begin(), key.end(), '-', '_');
  return key;
}

std::string_view last_part(std::string_view key) {
  return key.substr(key.rfind('.') + 1);
}

}  // namespace

void register_foreign_names(std::span<const ForeignName> names) {
  std::erase_if(registered_names(), [&](const auto& known) { return known.data() == names.data(); });
  registered_names().push_back(names);
}

std::string_view instead_of(std::string_view name, std::string_view value) {
  const std::string key = with_underscores(name);
  const auto is_section = [&](std::string_view known) {
    return known.ends_with('.') && (key + ".").starts_with(known);
  };
  const auto is_last = [&](std::string_view known) { return known == last_part(key); };
  if (const ForeignName* const section = find_line(is_section, value); section != nullptr)
    return section->instead;
  const ForeignName* const found = find_line(is_last, value);
  return found != nullptr ? found->instead : std::string_view();
}

std::string_view becomes_in_recipe(std::string_view name, std::string_view value) {
  const std::string key = with_underscores(name);
  const ForeignName* found = find_line([&](std::string_view known) { return known == key; }, value);
  if (found == nullptr)
    found = find_line([&](std::string_view known) { return known == last_part(key); }, value);
  return found != nullptr ? found->becomes : std::string_view();
}

std::string keys_called(std::string_view name) {
  const std::string called = with_underscores(name);
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
