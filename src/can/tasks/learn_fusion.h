#pragma once

#include <filesystem>

#include "can/tasks/window_data.h"
#include "engine/fit/fit.h"

namespace plimsoll {

/// Adds the levels of the fused score to the file of a trained GAT. They are learned from benign validation
/// windows, at most FurtherLevels::kMaxWindows of them, compared with the profile of all training recordings:
/// as they are and, for a GAT trained with ID dropout, again as if they were of another vehicle. `data` is
/// the training data, not calibrated. Does nothing unless the features are behaviour. Errors: those of
/// load_detector(), Scorer and save_detector().
void learn_fusion(const std::filesystem::path& model, const WindowData& data, const Recipe& recipe,
                  const RunOptions& run);

}  // namespace plimsoll
