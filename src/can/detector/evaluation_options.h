#pragma once

#include <cstdint>

#include "config/task_options.h"

namespace plimsoll {

/// Options of `plimsoll evaluate` for detectors.
struct DetectorEvaluationOptions final : TaskOptions {
  std::filesystem::path compare = {};    ///< File with published results to compare with; empty: none.
  std::filesystem::path scores = {};     ///< File for the score of every window; empty: none.
  std::filesystem::path attention = {};  ///< Folder for a GAT's attention by edge; empty: none.
  /// Maximum number of windows of each recording to calibrate on; negative: as in the recipe.
  int64_t calibrate = -1;
  bool ablation = false;  ///< Also evaluate the fused score with each of its parts left out in turn.

  void refuse(std::string_view task) const override;
  void protect(const std::filesystem::path& run, std::vector<std::filesystem::path> sources) const override;
  std::vector<std::pair<std::string, std::string>> facts() const override;
};

}  // namespace plimsoll
