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
/// docs/command-line.md. Errors become one line on stderr; after Stopped, the signal ends the process. For
/// the whole process, it ignores SIGXFSZ and has lost mappings reported (io/lost_mapping.h).
int run_command(CLI::App& app, int argc, char** argv);

/// The options --budget, which most verbs have, and --threads, which verbs have that can use several threads.
struct Resources {
  std::string budget_text;
  int threads = 0;
  /// Number of ranks of a run on this machine, which share its memory and processors equally by default.
  int sharers = 1;

  void add_budget(CLI::App& verb);
  void add_threads(CLI::App& verb);
  /// Returns the value of --threads or, by default, this process's share of the available processors, at
  /// least 1.
  int thread_count() const;
};

/// Applies a budget: sets the cap of the ledger so that ledger and floor together stay within the budget, and
/// measures the memory used.
class Budget {
 public:
  /// `max` limits the default budget, but not --budget; 0: no limit. `slack` is the number of bytes set aside
  /// for a fragmented heap and for memory that libraries hold outside the ledger. Errors: UsageError if
  /// --budget is not a size; Error with exit code 4 if is_below_floor(), unless `may_be_below` is set: then
  /// the ledger refuses every allocation. Warns if the budget exceeds the detected limits, unless
  /// `for_elsewhere` is set, as for a plan for another machine.
  explicit Budget(const Resources& resources, int64_t max = 0, int64_t slack = 0, bool may_be_below = false,
                  bool for_elsewhere = false);

  int64_t bytes() const { return bytes_; }
  int64_t floor() const { return meter_.floor(); }
  /// Whether floor and slack leave nothing of the budget to the ledger.
  bool is_below_floor() const { return bytes_ <= outside_ledger(); }
  /// Returns the part of the budget that is not available to the ledger: floor and slack.
  int64_t outside_ledger() const { return floor() + slack_; }
  /// Returns the memory limits for work that runs in `threads` threads within this budget.
  MemoryShare share(int threads) const {
    return {.budget = bytes_, .outside_ledger = outside_ledger(), .threads = threads};
  }
  /// Returns the peaks so far, such as "memory: 18.2 MiB of a budget of 256 MiB (floor 3.1 MiB + ledger 15.1
  /// MiB); anonymous peak measured 19 MiB". A slack that is not 0 is stated after the floor.
  std::string report();
  /// Returns {"budget_bytes", "floor_bytes", "slack_bytes", "ledger_peak_bytes", "anonymous_peak_bytes",
  /// "by_tag": {...}, "held": held_json()}.
  Json report_json();

 private:
  Meter meter_;
  int64_t slack_;
  int64_t bytes_;
};

/// Throws Failure if files of a result that was already printed could not be saved; the message says that it
/// was printed.
void require_saved(const Unsaved& unsaved);
/// Flushes stdout and runs `save`. A signal does not interrupt `save` unless it takes longer than
/// kSecondsToStop (cli/interrupt.h); Stopped is thrown after it. Errors: those of require_saved().
void save_printed(const std::function<void()>& save);

/// Returns [{"source", "bytes", "others_bytes"}].
Json limits_json(const std::vector<Limit>& limits);

/// Returns the memory that this process and its memory cgroup hold now: {"anonymous_bytes",
/// "file_backed_bytes", "shared_bytes", "cgroup": {"source", "bytes", "peak_bytes"}}. A value is null if the
/// system does not report it.
Json held_json();

}  // namespace plimsoll
