#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>
#include <functional>
#include <string>

#include "base/json.h"
#include "base/json_text.h"
#include "base/stopwatch.h"
#include "io/unsaved.h"
#include "memory/limits.h"
#include "memory/meter.h"

namespace plimsoll {

/// Parses the command line of `app`, runs the verb that was named and returns the exit code of
/// docs/command-line.md. Errors become one line on stderr.
int run_command(CLI::App& app, int argc, char** argv);

/// --budget, which most verbs take, and --threads, for those that can use more than one.
struct Resources {
  std::string budget_text;
  int threads = 0;
  int sharers = 1;  ///< ranks of a run on this machine, of which each has a share of it by default

  void add_budget(CLI::App& verb);
  void add_threads(CLI::App& verb);
  int thread_count() const;  ///< --threads, else this process's share of the processors it may use
};

/// A budget in force: sets the cap of the ledger so that ledger + floor stay within it, and meters what is
/// used.
class Budget {
 public:
  /// `most`: what the default is cut to; 0 for no cut. `slack`: bytes set aside for what malloc loses between
  /// pieces. Errors: UsageError (not a size), Error with exit code 4 when the budget is below floor and
  /// slack, unless it `may_be_below`: then the ledger refuses everything. One that is above the limits found
  /// is said to be, unless it is `for_elsewhere`, as of a plan.
  explicit Budget(const Resources& resources, int64_t max = 0, int64_t slack = 0, bool may_be_below = false,
                  bool for_elsewhere = false);

  int64_t bytes() const { return bytes_; }
  int64_t floor() const { return meter_.floor(); }
  bool is_below_floor() const { return bytes_ <= outside_ledger(); }
  /// What the ledger does not have of it: floor and slack.
  int64_t outside_ledger() const { return floor() + slack_; }
  /// "memory: 18.2 MiB of 256 MiB (floor 3.1 MiB + slack 0 B + ledger 15.1 MiB); anonymous peak measured 19
  /// MiB"
  std::string report();
  /// {"budget_bytes", "floor_bytes", "slack_bytes", "ledger_peak_bytes", "anonymous_peak_bytes", "by_tag":
  /// {...}, "held": held_json()}
  Json report_json();

 private:
  Meter meter_;
  int64_t slack_;
  int64_t bytes_;
};

/// Throws if a file of a result that is printed by now could not be saved. Errors: Failure that says both.
void require_saved(const Unsaved& unsaved);
/// Prints what stdout has buffered, and runs `save`, which a signal does not end halfway. Errors: those of
/// require_saved(), Stopped.
void save_printed(const std::function<void()>& save);

/// [{"source", "bytes", "others_bytes"}]
Json limits_json(const std::vector<Limit>& limits);

/// What this process and its memory cgroup hold now: {"anonymous_bytes", "file_backed_bytes", "shared_bytes",
/// "cgroup": {"source", "bytes", "peak_bytes"}}, null where the system does not say.
Json held_json();

}  // namespace plimsoll
