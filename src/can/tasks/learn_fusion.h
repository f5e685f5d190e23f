#pragma once

#include <filesystem>

#include "can/tasks/window_data.h"
#include "engine/fit/fit.h"

namespace plimsoll {

/// Puts into the file of a trained GAT the levels of its fused score: of benign validation windows, compared
/// with the profile of all training recordings, as they are and as if they were of another vehicle. `data`:
/// those that trained, not calibrated. Does nothing for other features than behaviour. Errors: InputError,
/// BudgetTooSmall.
void learn_fusion(const std::filesystem::path& model, const WindowData& data, const Recipe& recipe,
                  const RunOptions& run);

}  // namespace plimsoll
