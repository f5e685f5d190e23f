#pragma once

#include <array>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>

#include "base/mutex.h"
#include "base/span_sink.h"
#include "io/file.h"
#include "memory/ledger.h"
#include "telemetry/markup.h"

namespace plimsoll {

/// A trace that Perfetto opens: JSON trace events (Google, "Trace Event Format", 2016), one per line of an
/// array that may end anywhere, so that a killed process leaves a readable file. It has a track for each
/// worker, the reader and the run, and a counter of memory by tag. Thread-safe.
class Trace : public SpanSink {
 public:
  /// Bytes of its buffer, which is entered in the ledger.
  static constexpr int64_t kBufferBytes = 64 * 1024;

  /// Errors: BudgetExceeded.
  Trace();
  Trace(const Trace&) = delete;
  Trace& operator=(const Trace&) = delete;

  /// Starts writing to a new file, in place of an existing one, with a track for each of `workers` workers.
  /// Errors: Failure.
  void open(const std::filesystem::path& path, const std::string& title, int workers);
  /// Records a span, if a file is open. `name` is plain ASCII without quotes and backslashes, of which 200
  /// characters are written. If the file cannot be written, the trace ends there, and a message is printed to
  /// stderr.
  void span(int track, const char* name, Clock::time_point begin, Clock::time_point end,
            const Size& size) override;
  /// Writes the buffered events.
  void flush();
  /// Ends the file.
  void close();

 private:
  void put_counters(Clock::time_point at) PLIMSOLL_REQUIRES(mutex_);
  void name_track(int track, const std::string& name, int place) PLIMSOLL_REQUIRES(mutex_);
  void write_buffer() PLIMSOLL_REQUIRES(mutex_);

  Mutex mutex_;
  std::optional<File> file_ PLIMSOLL_GUARDED_BY(mutex_);
  Markup buffer_ PLIMSOLL_GUARDED_BY(mutex_);
  std::array<int64_t, kTags> held_ PLIMSOLL_GUARDED_BY(mutex_){};
};

}  // namespace plimsoll
