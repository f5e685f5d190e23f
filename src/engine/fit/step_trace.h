#pragma once

#include <filesystem>
#include <memory>
#include <optional>
#include <string>

#include "config/recipe.h"
#include "engine/fit/operator_spans.h"
#include "sample/block/block_runner.h"
#include "telemetry/trace.h"

namespace plimsoll {

/// Traces some steps of a stage (`run.profile`). In this process it skips the first `wait` steps, traces and
/// discards the next `warmup`, and writes the next `active` to trace-STEPS.json in the stage's folder. If
/// `active` is 0, it does nothing and holds no memory. Not thread-safe.
class StepTrace {
 public:
  explicit StepTrace(const ProfileSection& profile);
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  /// Bytes in the ledger.
  static int64_t bytes(const ProfileSection& profile);

  /// Starts after `steps` steps of the run. `runner` must outlive all calls of step(), and be destroyed
  /// before the trace.
  void start(const std::filesystem::path& folder, int64_t steps, BlockRunner& runner);
  /// Call it at the start of each step, after the previous step has ended. Nothing is traced without start(),
  /// as on a rank that does not write files.
  void step();

  /// Records an activity of the whole run, which lasts as long as the object.
  class Span {
   public:
    Span(StepTrace& trace, const char* name);
    ~Span();
    Span(const Span&) = delete;
    Span& operator=(const Span&) = delete;

   private:
    SpanSink* sink_;
    const char* name_;
    SpanSink::Clock::time_point begin_;
  };

 private:
  void end();

  const ProfileSection profile_;
  std::unique_ptr<Trace> trace_;  // Null if nothing is traced, or tracing has ended.
  SpanSink* sink_ = nullptr;      // The current sink: trace_, or null.
  BlockRunner* runner_ = nullptr;
  std::optional<OperatorSpans> operators_;  // Set while steps are written, if operators were requested.
  std::filesystem::path path_;
  int64_t steps_ = 0;  // Number of steps started.
};

}  // namespace plimsoll
