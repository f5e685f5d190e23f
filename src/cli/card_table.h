#pragma once

#include <optional>
#include <vector>

#include "base/json.h"
#include "cli/plan_device.h"
#include "run/block_sizes.h"

namespace plimsoll {

/// The memory that a run needs with larger blocks, and the largest block that fits each GPU model.
class CardTable {
 public:
  /// Plans the run of `request` for the GPU `card`, which must have a model. Errors: those of
  /// plan_block_sizes().
  CardTable(const RunRequest& request, const PlannedCard& card);

  /// Prints both as tables to stdout.
  void print() const;
  /// Returns {"block_sizes": [...], "gpu_preset": {...} or null, "models": [...]} (docs/command-line.md).
  Json json() const;

 private:
  // Returns the largest planned size that fits a card of the model; null if none fits.
  const PlannedBlocks* largest_for(const DeviceModel& model) const;

  int64_t margin_;  // The margin of the plans.
  std::vector<PlannedBlocks> sizes_;
  std::optional<PlannedBlocks> preset_;
};

}  // namespace plimsoll
