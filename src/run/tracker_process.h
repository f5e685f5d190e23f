#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

/// Runs `plimsoll sync` in addition to a training run: a process outside the budget that follows the journal
/// of the run and sends it to the trackers (`run.trackers`). When training ends for any reason, its end of a
/// socket is closed; the process then sends the rest and exits. Training waits for it only in the
/// constructor.
class TrackerProcess {
 public:
  /// Starts the process and waits until it reports that it has everything it needs. Its memory then counts as
  /// memory of other processes (memory/limits.h). Errors: UsageError with the remedy, for example for a
  /// missing package; Failure.
  TrackerProcess(const std::filesystem::path& run, const std::vector<std::string>& trackers);
  ~TrackerProcess();
  TrackerProcess(const TrackerProcess&) = delete;
  TrackerProcess& operator=(const TrackerProcess&) = delete;

  /// Signals to the process that the folder of the run exists and that it may read and write there. If
  /// training ends without this call, it exits.
  void follow() const;

 private:
  int socket_ = -1;
  int process_ = -1;
};

}  // namespace plimsoll
