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

/// Traces some steps of a stage (`run.profile`): of those that this process does, `wait` go by, `warmup` are
/// told and thrown away, and `active` are written to trace-STEPS.json in the stage's folder. Without `active`
/// it does nothing and holds nothing. Not thread-safe.
class StepTrace {
 public:
  explicit StepTrace(const Recipe::Run::Profile& profile);
  ~StepTrace();
  StepTrace(const StepTrace&) = delete;
  StepTrace& operator=(const StepTrace&) = delete;

  /// Bytes that stand in the ledger.
  static int64_t bytes(const Recipe::Run::Profile& profile);

  /// Of a process that starts after `steps` steps. `runner` must live while step() is called, and end before
  /// this.
  void start(const std::filesystem::path& folder, int64_t steps, BlockRunner& runner);
  /// A step starts: the one before has ended. Nothing is traced without start(), as on a rank that does not
  /// write the run.
  void step();

  /// Something that the run as a whole does, from its making to its end.
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

  const Recipe::Run::Profile profile_;
  std::unique_ptr<Trace> trace_;  // null: nothing is traced, or no longer
  SpanSink* sink_ = nullptr;      // now: trace_, or null
  BlockRunner* runner_ = nullptr;
  std::optional<OperatorSpans> operators_;  // while steps are written, where they were asked for
  std::filesystem::path path_;
  int64_t steps_ = 0;  // that have started
};

}  // namespace plimsoll
