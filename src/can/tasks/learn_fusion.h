#pragma once

#include <filesystem>

#include "can/tasks/window_data.h"
#include "engine/fit/fit.h"

namespace plimsoll {

/// Adds the levels of the fused score to the file of a trained GAT. They are learned from benign validation
/// windows, compared with the profile of all training recordings, once as they are and once as if they were
/// of another vehicle. `data` is the training data, not calibrated. Does nothing unless the features are
/// behaviour. Errors: InputError, BudgetTooSmall.
void learn_fusion(const std::filesystem::path& model, const WindowData& data, const Recipe& recipe,
                  const RunOptions& run);

}  // namespace plimsoll
