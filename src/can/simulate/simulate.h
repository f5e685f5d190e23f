#pragma once

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

#include "can/simulate/attacks.h"
#include "can/simulate/transfer.h"
#include "can/write/capture_writer.h"

namespace plimsoll {

/// One recording of a simulated collection.
struct SimulatedRecording {
  std::string split;
  std::string name;  ///< "attack-free-1", "DoS-1": what happens, and the vehicle, counted from 1
  uint32_t vehicle = 0;
  std::optional<AttackKind> attack;
  int64_t frames = 0;

  bool operator==(const SimulatedRecording&) const = default;
};

struct SimulateOptions {
  std::filesystem::path out;
  /// Null: a `frames` set; else a folder of captures in csv or candump, one folder a split.
  const WrittenFormat* captures = nullptr;
  int64_t frames = 0;  ///< of all recordings together
  uint64_t seed = 1;
  int vehicles = 3;  ///< the last one never trains
  std::vector<AttackKind> attacks = {};
  bool force = false;  ///< replace an existing output
};

/// The recordings of a collection in the order of splits and names: attack-free and attacked ones that train,
/// and tests with a known vehicle, with the last vehicle, which does not train, and with attacks that do not
/// (the last third of the list). Attack-free recordings have four times the frames of the others.
/// Errors: UsageError (fewer frames than shares).
std::vector<SimulatedRecording> simulated_recordings(const SimulateOptions& options);

/// Writes a collection. The same bytes for the same frames, seed, vehicles and attacks; memory does not grow
/// with it. Errors: UsageError, Failure (disk; the output exists), BudgetExceeded; the output is then as it
/// was before.
SimulateResult simulate_can(const SimulateOptions& options, const SimulateProgress& progress);

}  // namespace plimsoll
