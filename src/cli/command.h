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
#include "memory/memory_share.h"
#include "memory/meter.h"

namespace plimsoll {

/// Parses the command line of `app`, runs the verb that it names and returns the exit code of
/// docs/command-line.md. Errors become one line on stderr.
int run_command(CLI::App& app, int argc, char** argv);

/// The options --budget, which most verbs have, and --threads, for verbs that can use more than one.
struct Resources {
  std::string budget_text;
  int threads = 0;
  int sharers = 1;  ///< Ranks of a run on this machine; by default each gets an equal share of its memory.

  void add_budget(CLI::App& verb);
  void add_threads(CLI::App& verb);
  int thread_count()
      const;  ///< The value of --threads, otherwise this process's share of the processors it may use.
};

/// A budget in force: sets the cap of the ledger so that ledger + floor stay within it, and measures the use.
class Budget {
 public:
  /// `max` limits the default budget; 0: no limit. `slack` are bytes set aside for what malloc loses between
  /// chunks and for what libraries hold outside the ledger. Errors: UsageError (not a size), Error with exit
  /// code 4 if the budget is below floor and slack, unless it `may_be_below`: then the ledger refuses
  /// everything. Warns about a budget above the limits found, unless it is `for_elsewhere`, as for a plan.
  explicit Budget(const Resources& resources, int64_t max = 0, int64_t slack = 0, bool may_be_below = false,
                  bool for_elsewhere = false);

  int64_t bytes() const { return bytes_; }
  int64_t floor() const { return meter_.floor(); }
  bool is_below_floor() const { return bytes_ <= outside_ledger(); }
  /// The part of the budget that the ledger does not have: floor and slack.
  int64_t outside_ledger() const { return floor() + slack_; }
  /// The memory limits of work that runs in `threads` threads within this budget.
  MemoryShare share(int threads) const {
    return {.budget = bytes_, .outside_ledger = outside_ledger(), .threads = threads};
  }
  /// Returns "memory: 18.2 MiB of 256 MiB (floor 3.1 MiB + slack 0 B + ledger 15.1 MiB); anonymous peak
  /// measured 19 MiB".
  std::string report();
  /// Returns {"budget_bytes", "floor_bytes", "slack_bytes", "ledger_peak_bytes", "anonymous_peak_bytes",
  /// "by_tag": {...}, "held": held_json()}.
  Json report_json();

 private:
  Meter meter_;
  int64_t slack_;
  int64_t bytes_;
};

/// Throws if a file of a result that is already printed could not be saved. Errors: Failure that says both.
void require_saved(const Unsaved& unsaved);
/// Flushes stdout and runs `save`; a signal does not interrupt it. Errors: those of require_saved(), Stopped.
void save_printed(const std::function<void()>& save);

/// Returns [{"source", "bytes", "others_bytes"}].
Json limits_json(const std::vector<Limit>& limits);

/// The memory that this process and its memory cgroup hold now: {"anonymous_bytes", "file_backed_bytes",
/// "shared_bytes", "cgroup": {"source", "bytes", "peak_bytes"}}, null for values that the system does not
/// report.
Json held_json();

}  // namespace plimsoll
