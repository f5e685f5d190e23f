#include "cli/training_data.h"

#include <fmt/format.h>

#include "base/error.h"
#include "base/hash.h"
#include "sample/graph_set_source.h"

namespace plimsoll {

TrainingData::TrainingData(const std::filesystem::path& folder, const Recipe& recipe,
                           std::vector<uint32_t> vocabulary) {
  const std::string kind = read_manifest(folder).value("kind", "");
  if (kind == "graph_set") {
    auto graphs = std::make_unique<GraphSetSource>(folder);
    identity_ = graphs->set().identity();
    source_ = std::move(graphs);
    return;
  }
  frames_.emplace(folder);
  identity_ = frames_->identity();
  auto windows = open_windows(*frames_, {recipe.data.features, recipe.data.window.value, recipe.data.stride.value,
                               recipe.data.window.unit},
                              std::move(vocabulary));
  windows_ = windows.get();
  source_ = std::move(windows);
}

std::string TrainingData::identity_hash() const {
  Hasher hasher;
  const std::string text = identity_.dump();
  hasher.add(text.data(), text.size());
  return hasher.hex64();
}

TrainingSplit split_for(const Recipe& recipe, const BlockSource& source, std::span<const GraphShape> shapes) {
  if (recipe.split.by == "graph")
    return split_by_graph(source.tables(), shapes, recipe.split.validation, recipe.split.test,
                          static_cast<uint64_t>(recipe.seed));
  if (source.tables().recordings.empty())
    throw UsageError("split.by is 'time', but the data set has no recordings; set split.by: graph");
  return split_by_time(source.tables(), recipe.split.validation, recipe.split.embargo);
}

TrainingSplit detection_split(const Recipe& recipe, const TrainingData& data) {
  if (data.windows() == nullptr)
    throw UsageError(
        "task 'detection' needs a data set of frames; for a graph_set set task: graph_classification");
  if (recipe.split.by != "time") throw UsageError("task 'detection' needs split.by: time");
  return split_by_time(data.source().tables(), recipe.split.validation, recipe.split.embargo);
}

}  // namespace plimsoll
