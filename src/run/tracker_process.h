#pragma once

#include <filesystem>
#include <string>
#include <vector>

namespace plimsoll {

/// `plimsoll sync` beside a training: a process of its own, outside the budget, that follows the journal of
/// the run and brings it to the trackers (`run.trackers`). It knows that training has ended, however it
/// ended, because its end of a socket is closed then; it sends what is left, and ends. Training never waits
/// for it.
class TrackerProcess {
 public:
  /// Starts it and waits until it says that all it needs is there; what it holds then is in the memory that
  /// others hold (memory/limits.h). Errors: UsageError with the remedy, such as the package that is missing.
  TrackerProcess(const std::filesystem::path& run, const std::vector<std::string>& trackers);
  ~TrackerProcess();
  TrackerProcess(const TrackerProcess&) = delete;
  TrackerProcess& operator=(const TrackerProcess&) = delete;

  /// The folder of the run is there: it may read and write in it. It ends without that.
  void follow() const;

 private:
  int socket_ = -1;
  int process_ = -1;
};

}  // namespace plimsoll
