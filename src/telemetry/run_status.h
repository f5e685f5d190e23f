#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "telemetry/journal_reader.h"

namespace plimsoll {

/// A run that a process of this machine trains.
struct LiveRun {
  std::filesystem::path folder;
  int64_t process = 0;
};

/// All of them that the system shows to this user, by the locks that their processes hold open. `root` is
/// where /proc stands; tests give a tree of their own.
std::vector<LiveRun> find_live_runs(const std::string& root = "");

/// Follows a run by the journals of its stages, and by /proc. Not thread-safe.
class RunStatus {
 public:
  explicit RunStatus(std::filesystem::path folder, std::string root = "")
      : folder_(std::move(folder)), root_(std::move(root)) {}

  /// What is known now, as `plimsoll top --json` has it (docs/seeing.md). `process`: that trains it; 0: none.
  Json look(int64_t process);

 private:
  // What the journal of a stage has said last, by the kind of event.
  struct Stage {
    JournalReader journal;
    Json last = Json::object();
    double time = 0;  // of its last event
    std::string state = "running";
  };
  void read(Stage& stage);

  const std::filesystem::path folder_;
  const std::string root_;
  std::map<std::string, Stage> stages_;  // by "seed-42/gat"
};

}  // namespace plimsoll
