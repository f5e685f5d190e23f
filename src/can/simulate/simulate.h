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
  /// Kind of traffic and number of the vehicle, from 1, such as "attack-free-1" or "DoS-1".
  std::string name;
  uint32_t vehicle = 0;  ///< Number of the vehicle, from 0.
  std::optional<AttackKind> attack;
  int64_t frames = 0;

  bool operator==(const SimulatedRecording&) const = default;
};

struct SimulateOptions {
  std::filesystem::path out;
  /// Null for a `frames` set; otherwise a folder of captures in csv or candump, with one folder per split.
  const WrittenFormat* captures = nullptr;
  int64_t frames = 0;  ///< Total number of frames of all recordings.
  uint64_t seed = 1;
  int vehicles = 3;  ///< Number of vehicles, at least 2. The last one is never in a training split.
  std::vector<AttackKind> attacks = {};
  bool force = false;  ///< Replace an existing output.
};

/// The recordings of a collection in the order of splits and names: attack-free and attacked ones for
/// training, and tests with a known vehicle, with the last vehicle, which is not in training, and with
/// attacks that are not in training (the last third of the list). Attack-free recordings have four times the
/// frames of the others. Throws UsageError if there are too few or more than 10^10 frames, or fewer than two
/// vehicles.
std::vector<SimulatedRecording> simulated_recordings(const SimulateOptions& options);

/// Writes a collection. The bytes are equal for equal frames, seed, vehicles and attacks. Memory does not
/// grow with the collection. A `frames` set that was made with the same options is left as it is. `progress`
/// must not be null. Throws UsageError; Failure if the disk cannot be used or the output exists; and
/// BudgetExceeded. On an error the output is unchanged.
SimulateResult simulate_can(const SimulateOptions& options, const SimulateProgress& progress);

}  // namespace plimsoll
