#include "engine/fit/epoch_meter.h"

#include <algorithm>

#include "base/seconds.h"
#include "memory/meter.h"

namespace plimsoll {
namespace {

using Clock = std::chrono::steady_clock;

constexpr std::chrono::milliseconds kBetweenLooks{100};

RowCounters rows_of(const BlockRunner& runner) {
  return runner.source().row_counters().value_or(RowCounters{});
}

}  // namespace

EpochMeter::EpochMeter(const BlockRunner& runner, int64_t planned,
                       const std::optional<ReadingCost>& predicted, DeviceMeter device)
    : runner_(runner), planned_(planned), predicted_(predicted.value_or(ReadingCost{})), device_(device) {}

EpochMeter::~EpochMeter() {
  if (outer_recent_ >= 0) Ledger::process().end_recent(outer_recent_);
}

void EpochMeter::begin(const EpochCost& before) {
  Ledger& ledger = Ledger::process();
  outer_recent_ = std::max(outer_recent_, ledger.recent_peak());
  ledger.begin_recent();
  before_ = before;
  start_ = Clock::now();
  last_look_ = {};
  times_before_ = runner_.times();
  rows_before_ = rows_of(runner_);
  reruns_before_ = runner_.reruns();
  anonymous_ = 0;
  device_.begin();
  look();
}

void EpochMeter::look() {
  device_.look();
  const Clock::time_point now = Clock::now();
  if (now - last_look_ < kBetweenLooks) return;
  last_look_ = now;
  anonymous_ = std::max(anonymous_, process_memory().anonymous);
}

EpochCost EpochMeter::cost(int64_t graphs, double seconds) {
  EpochCost cost;
  cost.graphs_per_s = seconds > 0 ? static_cast<double>(graphs) / seconds : 0;
  cost.planned = planned_;
  const ProcessMemory process = process_memory();
  cost.anonymous = std::max({before_.anonymous, anonymous_, process.anonymous});
  cost.page_cache = process.file_backed;
  if (const auto group = cgroup_memory()) cost.cgroup = group->bytes;
  const Ledger& ledger = Ledger::process();
  cost.ledger = std::max(before_.ledger, ledger.recent_peak());
  for (size_t tag = 0; tag < cost.tags.size(); ++tag)
    cost.tags[tag] = std::max(before_.tags[tag], ledger.recent_peak(static_cast<Tag>(tag)));
  const BlockRunner::Times times = runner_.times();
  cost.waited_reading_s = before_.waited_reading_s + times.reading - times_before_.reading;
  cost.waited_memory_s = before_.waited_memory_s + times.memory - times_before_.memory;
  cost.waited_order_s = before_.waited_order_s + times.order - times_before_.order;
  cost.reruns = before_.reruns + runner_.reruns() - reruns_before_;
  cost.bytes_read = before_.bytes_read + rows_of(runner_).bytes_read - rows_before_.bytes_read;
  device_.add_to(cost, before_);
  return cost;
}

std::optional<Reading> EpochMeter::reading() const {
  const auto rows = runner_.source().row_counters();
  if (!rows) return std::nullopt;
  const double stalled = runner_.times().reading - times_before_.reading;
  return Reading{rows_between(rows_before_, *rows), seconds_since(start_), stalled / runner_.workers(),
                 predicted_.read, predicted_.written};
}

const char* bottleneck(const BlockRunner::Times& did, double seconds, int workers, int threads) {
  constexpr double kHardly = 0.05;  // Share of the workers' time below which waiting does not count.
  const double all = seconds * workers;
  const double max = std::max({did.reading, did.memory, did.order});
  if (max > kHardly * all) return max == did.reading ? "reading" : max == did.memory ? "memory" : "order";
  return workers < threads ? "memory" : "compute";
}

}  // namespace plimsoll
