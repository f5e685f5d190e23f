#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/fit/optimizer.h"
#include "engine/fit/position.h"
#include "engine/fit/stored_table.h"
#include "memory/vector.h"
#include "nn/parameters.h"

namespace plimsoll {

/// Metadata key of RunOptions::roundings in a checkpoint.
inline constexpr const char* kRoundings = "plimsoll.roundings";

/// A copy of the weights of the best epoch, without those of a StoredTable. Storing a better epoch needs no
/// memory, because all of it is allocated at the start.
class BestWeights {
 public:
  /// Copies the current weights, and shares the tensors of `parameters`. Errors: BudgetExceeded.
  explicit BestWeights(const ParameterList& parameters);
  /// Replaces the copy with the current weights.
  void keep();
  /// Copies the best weights back to the parameters and buffers.
  void restore() const;
  /// The copy, in the order of ParameterList::all().
  std::span<float> values() { return values_; }

 private:
  const std::vector<ParameterList::Entry> entries_;
  Vector<float, Tag::parameters> values_;
};

/// The content of a checkpoint without the position. load() overwrites it.
struct TrainingState {
  const ParameterList& parameters;
  BestWeights& best;
  Optimizer& optimizer;
  /// Replaces the optimizer's own state if the optimizer has only a slice (engine/fit/whole_state.h);
  /// otherwise empty.
  std::map<std::string, std::span<float>> whole_state = {};
  /// The table of embeddings, if it is on a disk: a checkpoint has only the places of its rows.
  StoredTable* table = nullptr;

  /// Returns views of all tensors in memory by their name in a checkpoint.
  std::map<std::string, std::span<float>> tensors() const;
};

/// The checkpoints of a stage in one folder: safetensors files named by the number of completed steps
/// (docs/formats/run.md). The last two are kept, but only the last one if there is a StoredTable, whose file
/// has no older rows. Not thread-safe.
class Checkpoints {
 public:
  /// `identity` identifies the recipe and the data; a checkpoint with another identity is refused.
  /// `roundings` is written as kRoundings, unless it is empty.
  Checkpoints(std::filesystem::path folder, std::string identity, std::string roundings = {});

  /// Makes the folder. Call it before the other functions. Errors: Failure.
  void make_folder() const;

  /// Writes a checkpoint under a temporary name, syncs and renames it, and then deletes all but those that
  /// are kept. Errors: Failure; earlier checkpoints are then unchanged.
  void save(const TrainingState& state, const Position& position);

  /// Loads the newest undamaged checkpoint into `state`; returns nullopt if there is none. Damaged ones are
  /// renamed to damaged-NAME, and their names and faults are added to `damaged`. Errors: UsageError for a
  /// checkpoint of another recipe or other data; Failure if its table of embeddings is missing or cannot be
  /// opened; BudgetExceeded.
  std::optional<Position> load(const TrainingState& state, std::vector<std::string>& damaged) const;

 private:
  std::vector<std::filesystem::path> newest_first() const;
  void remove_all_but(size_t kept) const;
  std::filesystem::path folder_;
  std::string identity_;
  std::string roundings_;
};

}  // namespace plimsoll
