#include "tasks/relational/relational_data.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/error.h"
#include "store/typed_graph.h"

namespace plimsoll {
namespace {

constexpr const char* kTrain = TaskSeeds::kTrain;
constexpr const char* kValidation = "val";

void require_types(const std::filesystem::path& folder) {
  if (!has_node_types(read_manifest(folder)))
    throw InputError(
        folder.string() +
        ": the graph has no node types, which the task relational needs; make a graph with them with "
        "`plimsoll ingest tables`, or set task: node_classification");
}

TypedSourceOptions source_options(const Recipe& recipe, int64_t samples) {
  if (recipe.relational.task.empty())
    throw UsageError(
        "relational.task: found no name, expected a task of the data set; `plimsoll inspect` "
        "lists them");
  return {.task = recipe.relational.task,
          .fan_outs = recipe.sampling.fan_outs,
          .strategy = recipe.relational.neighbours == SampledNeighbours::latest ? TemporalStrategy::last
                                                                                : TemporalStrategy::uniform,
          .rolling = recipe.relational.test_history == TestHistory::rolling,
          .lagged = recipe.relational.training_history == TrainingHistory::lagged,
          .history_days = recipe.relational.history_days,
          .seed = static_cast<uint64_t>(recipe.seed),
          .samples = samples};
}

}  // namespace

struct RelationalData::Opened {
  OpenedData data;
  const TypedSource* seeds;
};

RelationalData::Opened RelationalData::open(const std::filesystem::path& folder, const Recipe& recipe,
                                            int64_t samples) {
  require_types(folder);
  std::unique_ptr<TypedSource> source;
  try {
    source = std::make_unique<TypedSource>(folder, source_options(recipe, samples));
  } catch (const Json::exception& error) {
    throw InputError(
        fmt::format("{}: damaged manifest.json: {}; ingest the tables again", folder.string(), error.what()));
  }
  Opened opened{.data = {}, .seeds = source.get()};
  opened.data.identity = source->graph().set().identity();
  opened.data.source = std::move(source);
  opened.data.unit = "seeds";
  return opened;
}

RelationalData::RelationalData(const std::filesystem::path& folder, const Recipe& recipe, int64_t samples)
    : RelationalData(folder, recipe, open(folder, recipe, samples)) {}

RelationalData::RelationalData(const std::filesystem::path& folder, const Recipe& recipe, Opened opened)
    : TrainingData(folder, recipe, std::move(opened.data)), seeds_(opened.seeds) {}

GraphList RelationalData::seeds_of(const std::string& split,
                                   const std::function<bool(int64_t seed)>& is_wanted) const {
  const auto& splits = seeds_->seeds().splits();
  const auto found = std::ranges::find(splits, split, &TaskSeeds::Split::name);
  GraphList seeds;
  for (int64_t seed = 0; found != splits.end() && seed < found->count; ++seed)
    if (is_wanted(found->first + seed)) seeds.push_back(found->first + seed);
  return seeds;
}

GraphList RelationalData::graphs_of(const std::string& split) const {
  return seeds_of(split, [&](int64_t seed) { return seeds_->seeds().has_label(seed); });
}

int64_t RelationalData::unknown_labels(const std::string& split) const {
  return std::ssize(seeds_of(split, [&](int64_t seed) { return seeds_->seeds().has_unknown_label(seed); }));
}

TrainingSplit RelationalData::split() const {
  TrainingSplit split{.training = graphs_of(kTrain),
                      .validation = graphs_of(kValidation),
                      .resampling = {.period = seeds_->graphs(), .samples = seeds_->samples()}};
  if (split.training.empty() || split.validation.empty())
    throw InputError(fmt::format(
        "{}: task {} has no labelled seeds in the split {}; {}, then ingest the tables again",
        seeds_->graph().set().folder().string(), seeds_->seeds().name(),
        split.training.empty() ? kTrain : kValidation,
        seeds_->seeds().completes_column()
            ? "set val_timestamp and test_timestamp so that rows with the target are in each split"
            : "add rows with a label to the split's table"));
  return split;
}

}  // namespace plimsoll
