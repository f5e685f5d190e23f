#pragma once

#include <optional>
#include <string>
#include <vector>

#include "engine/blocks/lane_exchange.h"
#include "engine/fit/fit.h"
#include "engine/fit/position.h"
#include "engine/fit/reading.h"
#include "engine/plan/device_run.h"
#include "telemetry/journal.h"

namespace plimsoll {

/// Writes the events of a run of fit() to events.jsonl in the folder of the stage (docs/events.md); writes
/// nothing on ranks that write no files. Not thread-safe.
class FitJournal {
 public:
  /// `position` is where the run is; events name its epoch and step. Both arguments must outlive the object.
  /// Errors: those of Journal.
  FitJournal(const FitOptions& options, const Position& position);

  Journal& journal() { return journal_; }

  void damaged_checkpoints(const std::vector<std::string>& names);
  /// `device` is null on the CPU.
  void start(bool is_resumed, const MemoryPlan& plan, const DeviceRun* device);
  void pressure(const BlockRunner::Event& event);
  void loss_scale();
  void interrupted();
  void out_of_budget(const std::string& reason);
  /// `ranks` is null if one process trains alone. begin_epoch() records the traffic so far; end_epoch()
  /// writes the traffic since then.
  void begin_epoch(const LaneExchange* ranks);
  void end_epoch(const EpochMetrics& metrics, const LaneExchange* ranks,
                 const std::optional<Reading>& reading);
  void end(const std::string& weights, const BlockRunner& runner);

 private:
  Json exchange_json(const LaneExchange& ranks) const;
  Json table_json() const;

  const FitOptions& options_;
  const Position& position_;
  Journal journal_;
  Exchange::Traffic traffic_before_;  // Traffic before this epoch.
  double for_slower_before_ = 0;
};

}  // namespace plimsoll
