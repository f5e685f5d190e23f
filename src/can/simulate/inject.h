#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "can/simulate/attacks.h"
#include "can/simulate/transfer.h"

namespace plimsoll {

/// Which IDs attacks may be about.
enum class TargetChoice : uint8_t {
  any,       ///< the ID of a frame drawn by lot
  periodic,  ///< the same among frames of periodic IDs (periodic_ids.h)
};

struct InjectOptions {
  std::filesystem::path frames;  ///< a `frames` set
  std::filesystem::path out;     ///< the `frames` set to make
  uint64_t seed = 1;
  std::vector<AttackKind> attacks = {};
  TargetChoice target = TargetChoice::any;
  bool label_silence = false;  ///< as in AttackPlan
  bool keep = false;           ///< the recordings of the set as well, in the order of splits and names
  bool force = false;          ///< replace an existing output
};

/// Writes each attack into each recording that has times and no attack frames and is no copy: a recording
/// ATTACK-NAME of the same split; where its channels are merged, on that of the target. Frames that the
/// attack does not touch keep order, times and labels. Recordings without a periodic ID are left out where
/// one is asked for. Errors: UsageError (no attack), Failure (disk; the output exists), BudgetExceeded,
/// InputError (no such recording, CAN FD payloads, two recordings of one name); the output is then as it was
/// before.
SimulateResult inject_attacks(const InjectOptions& options, const SimulateProgress& progress);

}  // namespace plimsoll
