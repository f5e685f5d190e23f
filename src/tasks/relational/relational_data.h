#pragma once

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

#include "run/training_data.h"
#include "sample/typed/typed_source.h"

namespace plimsoll {

/// A graph with node types, seen as the seeds of the task that a recipe names.
class RelationalData : public TrainingData {
 public:
  /// `samples` is the number of samples of a training seed; only training needs more than one. Errors:
  /// InputError for a graph without node types, or with a manifest that lacks a key; UsageError if the recipe
  /// does not name a task; the other errors of TypedSource.
  RelationalData(const std::filesystem::path& folder, const Recipe& recipe, int64_t samples = 1);

  const TypedSource& seeds() const { return *seeds_; }
  /// Returns the indices of the labelled seeds of a split; empty if it has none. Errors: those of
  /// TaskSeeds::has_label().
  GraphList graphs_of(const std::string& split) const;
  /// Returns how many seeds of a split have a label that no training seed has (TaskSeeds).
  int64_t unknown_labels(const std::string& split) const;
  /// Returns the training and validation seeds. Errors: InputError if either split has no labelled seeds.
  TrainingSplit split() const;

 private:
  struct Opened;
  GraphList seeds_of(const std::string& split, const std::function<bool(int64_t seed)>& is_wanted) const;
  RelationalData(const std::filesystem::path& folder, const Recipe& recipe, Opened opened);
  static Opened open(const std::filesystem::path& folder, const Recipe& recipe, int64_t samples);

  const TypedSource* seeds_;  // Owned by TrainingData.
};

}  // namespace plimsoll
