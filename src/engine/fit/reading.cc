#include "engine/fit/reading.h"

#include <fmt/format.h>

#include <string>

#include "base/units.h"
#include "base/words.h"

namespace plimsoll {

/// The bottleneck of a run that reads rows.
enum class Bottleneck : uint8_t { compute, disk, sampling };
template <>
inline constexpr auto kWords<Bottleneck> = std::to_array<std::string_view>({"compute", "disk", "sampling"});

namespace {

double share(double part, double whole) {
  return whole > 0 ? part / whole : 0;
}

int64_t rows_of(const Reading& reading) {
  return reading.rows.hits + reading.rows.misses;
}

// Below this share of the time, waiting for blocks is not the bottleneck.
constexpr double kHardlyStalls = 0.05;

// Returns the bottleneck of a run. If workers wait for blocks, it is the disk or the sampling of blocks.
Bottleneck bottleneck_of(const Reading& reading) {
  if (share(reading.stalled_seconds, reading.seconds) < kHardlyStalls) return Bottleneck::compute;
  return reading.rows.waited_seconds * 2 > reading.stalled_seconds ? Bottleneck::disk : Bottleneck::sampling;
}

const char* in_words(Bottleneck bottleneck) {
  if (bottleneck == Bottleneck::compute) return "computing is the bottleneck, not reading";
  if (bottleneck == Bottleneck::disk)
    return "the disk is the bottleneck: a larger budget keeps more rows in memory";
  return "sampling and copying are the bottleneck: --prefetch reads further ahead";
}

}  // namespace

RowCounters rows_between(const RowCounters& before, const RowCounters& after) {
  return {.hits = after.hits - before.hits,
          .misses = after.misses - before.misses,
          .bytes_useful = after.bytes_useful - before.bytes_useful,
          .bytes_read = after.bytes_read - before.bytes_read,
          .bytes_written = after.bytes_written - before.bytes_written,
          .waited_seconds = after.waited_seconds - before.waited_seconds};
}

Reading sum(const Reading& a, const Reading& b) {
  return {{.hits = a.rows.hits + b.rows.hits,
           .misses = a.rows.misses + b.rows.misses,
           .bytes_useful = a.rows.bytes_useful + b.rows.bytes_useful,
           .bytes_read = a.rows.bytes_read + b.rows.bytes_read,
           .bytes_written = a.rows.bytes_written + b.rows.bytes_written,
           .waited_seconds = a.rows.waited_seconds + b.rows.waited_seconds},
          a.seconds + b.seconds,
          a.stalled_seconds + b.stalled_seconds,
          a.predicted_read + b.predicted_read,
          a.predicted_written + b.predicted_written};
}

Json reading_json(const Reading& reading) {
  const RowCounters& rows = reading.rows;
  return {{"rows", rows_of(reading)},
          {"misses", rows.misses},
          {"miss_ratio", share(static_cast<double>(rows.misses), static_cast<double>(rows_of(reading)))},
          {"bytes_read", rows.bytes_read},
          {"bytes_written", rows.bytes_written},
          {"bytes_useful", rows.bytes_useful},
          {"predicted_bytes_read", static_cast<int64_t>(reading.predicted_read)},
          {"predicted_bytes_written", static_cast<int64_t>(reading.predicted_written)},
          {"waited_s", rows.waited_seconds},
          {"stalled_s", reading.stalled_seconds},
          {"seconds", reading.seconds},
          {"binds", bottleneck_of(reading)}};
}

std::string reading_in_words(const Reading& reading) {
  const RowCounters& rows = reading.rows;
  const auto rows_used = static_cast<double>(rows_of(reading));
  std::string text =
      fmt::format("rows of features: {} used, {:.1f} % from memory", format_count(rows_of(reading)),
                  100 * (1 - share(static_cast<double>(rows.misses), rows_used)));
  if (rows.misses > 0)
    text += fmt::format("; {} read, {:.2f} bytes per byte that was needed", format_bytes(rows.bytes_read),
                        share(static_cast<double>(rows.bytes_read), static_cast<double>(rows.bytes_useful)));
  if (rows.bytes_written > 0)
    text += fmt::format(", {} of scratch written", format_bytes(rows.bytes_written));
  return text + fmt::format("; waited {} of {} for the disk, and {} for blocks: {}",
                            format_seconds(rows.waited_seconds), format_seconds(reading.seconds),
                            format_seconds(reading.stalled_seconds), in_words(bottleneck_of(reading)));
}

}  // namespace plimsoll
