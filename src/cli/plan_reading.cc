#include "cli/plan_reading.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <optional>

#include "base/units.h"
#include "engine/plan/start_up.h"
#include "telemetry/counted.h"
#include "telemetry/progress.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

// Returns the seconds that `amount` needs at `rate`; infinite if the rate is 0, which means unknown.
double seconds_for(double amount, double rate) {
  return amount > 0 ? amount / rate : 0;
}

// Returns the seconds per epoch; nullopt if the disk's or the processors' part is unknown.
std::optional<double> seconds_of(const MemoryPlan::Reading& reading, const DiskSpeed& disk) {
  // The time of a scattered read is that of one access plus that of its bytes. For a short file, the rate of
  // long reads is not known.
  const double bytes =
      reading.scattered_reads > 0 && disk.read == 0 ? 0 : seconds_for(reading.read, disk.read);
  const double reads = seconds_for(reading.scattered_reads, disk.rows) + bytes;
  const double seconds = reads + seconds_for(reading.written, disk.write);
  if (reading.seconds == 0 || !std::isfinite(seconds)) return std::nullopt;
  return std::max(reading.seconds, seconds);
}

// Returns the seconds of the whole run with this plan: sampling before the first epoch, planning, and the
// maximum number of epochs, of which those that were not sampled before are sampled when they come.
std::optional<double> seconds_of_run(const MemoryPlan& plan, const DiskSpeed& disk) {
  if (!plan.reading_of_run || !plan.start_up) return std::nullopt;
  const auto epoch = seconds_of(*plan.reading_of_run, disk);
  if (!epoch) return std::nullopt;
  const auto later = static_cast<double>(plan.epochs - plan.sampled_epochs);
  return plan.start_up->seconds + plan.seconds + static_cast<double>(plan.epochs) * *epoch +
         later * plan.seconds_of_samples;
}

std::string bytes_of(double bytes) {
  return format_bytes(static_cast<int64_t>(bytes));
}

}  // namespace

void print_reading(const MemoryPlan& plan, const DiskSpeed& disk) {
  Table table({"of the graph in memory", "budget", "read per epoch", "written", "seconds per epoch"});
  for (const MemoryPlan::Reading& at : plan.reading) {
    const auto seconds = seconds_of(at, disk);
    table.add({fmt::format("{:.0f} %", 100 * at.share), format_bytes(at.budget), bytes_of(at.read),
               bytes_of(at.written),
               seconds && *seconds <= kMaxEstimateSeconds ? fmt::format("{:.1f}", *seconds) : "-"});
  }
  if (plan.start_up) fmt::print("{}\n", start_up_in_words(*plan.start_up));
  if (const auto seconds = seconds_of_run(plan, disk); seconds && *seconds <= kMaxEstimateSeconds)
    fmt::print("whole run with this budget: {} predicted, start-up and up to {} of {}\n",
               format_seconds(*seconds), counted(plan.epochs, "epoch"),
               format_seconds(*seconds_of(*plan.reading_of_run, disk)));
  fmt::print("what memory buys, estimated for this disk (reads {}/s or {} scattered rows/s, writes {}/s)\n{}",
             bytes_of(disk.read), format_count(static_cast<int64_t>(disk.rows)), bytes_of(disk.write),
             table.text());
}

Json reading_plan_json(const MemoryPlan& plan, const DiskSpeed& disk) {
  Json parts = Json::array();
  for (const MemoryPlan::Reading& at : plan.reading) {
    const auto seconds = seconds_of(at, disk);
    parts.push_back({{"share", at.share},
                     {"budget_bytes", at.budget},
                     {"bytes_read", at.read},
                     {"bytes_written", at.written},
                     {"pieces", at.scattered_reads},
                     {"compute_seconds", at.seconds},
                     {"epoch_seconds", seconds ? Json(*seconds) : Json()}});
  }
  const auto run = seconds_of_run(plan, disk);
  const auto epoch = plan.reading_of_run ? seconds_of(*plan.reading_of_run, disk) : std::nullopt;
  return {{"start_up", plan.start_up ? start_up_json(*plan.start_up) : Json()},
          {"run",
           {{"epochs", plan.epochs},
            {"bytes_read", plan.reading_of_run ? Json(plan.reading_of_run->read) : Json()},
            {"bytes_written", plan.reading_of_run ? Json(plan.reading_of_run->written) : Json()},
            {"epoch_seconds", epoch ? Json(*epoch) : Json()},
            {"seconds", run ? Json(*run) : Json()}}},
          {"disk_reads_per_s", disk.read},
          {"disk_rows_per_s", disk.rows},
          {"disk_writes_per_s", disk.write},
          {"shares", std::move(parts)}};
}

}  // namespace plimsoll
