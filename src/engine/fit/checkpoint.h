#pragma once

#include <filesystem>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "engine/fit/optimizer.h"
#include "engine/fit/position.h"
#include "memory/vector.h"
#include "nn/parameters.h"

namespace plimsoll {

/// The metadata of a checkpoint that has RunOptions::roundings.
inline constexpr const char* kRoundings = "plimsoll.roundings";

/// A copy of the weights of the best epoch. Its memory is taken once, so keeping a better epoch cannot fail
/// for it.
class BestWeights {
 public:
  explicit BestWeights(const ParameterList& parameters);
  void keep();
  void restore() const;
  std::span<float> values() { return values_; }

 private:
  const std::vector<ParameterList::Entry> entries_;
  Vector<float, Tag::parameters> values_;
};

/// What a checkpoint holds, besides the position, and what load() overwrites.
struct TrainingState {
  const ParameterList& parameters;
  BestWeights& best;
  Optimizer& optimizer;
  /// In place of the optimizer's own, where that has a slice of it alone (engine/fit/whole_state.h); empty:
  /// it has all.
  std::map<std::string, std::span<float>> whole_state = {};

  /// Everything by the name it has in a checkpoint: views of the state's own memory.
  std::map<std::string, std::span<float>> tensors() const;
};

/// The checkpoints of a stage, in one folder: safetensors files named by the steps done
/// (docs/formats/run.md), of which the last two are kept. Not thread-safe.
class Checkpoints {
 public:
  /// `identity` says what is trained on what; a checkpoint of anything else is refused. `roundings` is
  /// written as kRoundings, unless it is empty.
  Checkpoints(std::filesystem::path folder, std::string identity, std::string roundings = {});

  /// Before the others. Errors: Failure.
  void make_folder() const;

  /// Temporary name, sync, rename; then deletes all but the last two. Errors: Failure; the earlier ones are
  /// as they were.
  void save(const TrainingState& state, const Position& position);

  /// Loads the newest that is whole into `state`; nothing when there is none. `damaged` gets the names of
  /// those that were passed over, which are renamed to damaged-NAME. Errors: UsageError for one of another
  /// recipe or data.
  std::optional<Position> load(const TrainingState& state, std::vector<std::string>& damaged) const;

 private:
  std::vector<std::filesystem::path> newest_first() const;
  std::filesystem::path folder_;
  std::string identity_;
  std::string roundings_;
};

}  // namespace plimsoll
