#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <vector>

#include "base/json.h"
#include "base/words.h"
#include "telemetry/journal_reader.h"

namespace plimsoll {

/// The state of a stage, according to the events of its journal.
enum class StageState : uint8_t { running, done, interrupted, out_of_budget };
template <>
inline constexpr auto kWords<StageState> = std::to_array<std::string_view>({"running", "done", "interrupted",
                                                                            "out of budget"});

/// A run that a process on this machine is training.
struct LiveRun {
  std::filesystem::path folder;
  int64_t process = 0;
};

/// Returns all live runs that the system shows to this user. They are found by the lock files that their
/// processes have open. `root` is the folder of /proc; tests pass their own tree.
std::vector<LiveRun> find_live_runs(const std::string& root = "");

/// Follows a run by reading the journals of its stages and /proc. Not thread-safe.
class RunStatus {
 public:
  explicit RunStatus(std::filesystem::path folder, std::string root = "")
      : folder_(std::move(folder)), root_(std::move(root)) {}

  /// Returns the current state as `plimsoll top --json` prints it (docs/seeing.md). `process` is the process
  /// that trains the run; 0: none.
  Json look(int64_t process);

 private:
  // The latest events of each kind in the journal of a stage.
  struct Stage {
    JournalReader journal;
    Json last = Json::object();
    double time = 0;  // Time of its last event.
    StageState state = StageState::running;
  };
  void read(Stage& stage);

  const std::filesystem::path folder_;
  const std::string root_;
  std::map<std::string, Stage> stages_;  // By "seed-42/gat".
};

}  // namespace plimsoll
