#pragma once

#include <cstdint>
#include <filesystem>
#include <vector>

#include "can/simulate/attacks.h"
#include "can/simulate/transfer.h"

namespace plimsoll {

/// Selects the IDs that may be targets of attacks.
enum class TargetChoice : uint8_t {
  any,       ///< The ID of a random frame.
  periodic,  ///< The ID of a random frame among those of periodic IDs (periodic_ids.h).
};

struct InjectOptions {
  std::filesystem::path frames;  ///< A `frames` set.
  std::filesystem::path out;     ///< The `frames` set to make.
  uint64_t seed = 1;
  std::vector<AttackKind> attacks = {};
  TargetChoice target = TargetChoice::any;
  bool label_silence = false;  ///< Same as AttackPlan::label_silence.
  bool keep = false;           ///< Also write the recordings of the set, in the order of splits and names.
  bool force = false;          ///< Replace an existing output.
};

/// Adds each attack to each benign recording that has times and is not a copy. Labels decide whether a
/// recording is benign; without labels, its name does. The result is a recording ATTACK-NAME of the same
/// split. If channels are merged, the attack is on the channel of the target. Frames that the attack does not
/// touch keep order, times and labels, but no frame keeps its flags (FrameSpans::flags). Recordings without a
/// periodic ID are left out if TargetChoice::periodic is set. If the output was made from the same set with
/// the same options, nothing is done. `progress` must not be null.
///
/// Throws UsageError if no attack is given; Failure if the disk cannot be used or the output exists;
/// InputError if there is no such recording, for a damaged set and for CAN FD payloads, and if two recordings
/// would have the same name with `keep`; and BudgetExceeded. On an error the output is unchanged.
SimulateResult inject_attacks(const InjectOptions& options, const SimulateProgress& progress);

}  // namespace plimsoll
