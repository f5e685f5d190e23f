#include "engine/fit/step_trace.h"

#include <fmt/format.h>

namespace plimsoll {

StepTrace::StepTrace(const ProfileSection& profile) : profile_(profile) {
  if (profile.active > 0) trace_ = std::make_unique<Trace>();
}

StepTrace::~StepTrace() {
  operators_.reset();
  if (trace_) trace_->close();
}

int64_t StepTrace::bytes(const ProfileSection& profile) {
  return profile.active > 0 ? Trace::kBufferBytes + 1 : 0;  // Includes the terminating zero of the string.
}

void StepTrace::start(const std::filesystem::path& folder, int64_t steps, BlockRunner& runner) {
  path_ = folder / fmt::format("trace-{:012}.json", steps);
  runner_ = &runner;
}

void StepTrace::step() {
  if (!trace_ || runner_ == nullptr) return;
  const int64_t first = profile_.wait + profile_.warmup;
  if (sink_ != nullptr) trace_->flush();  // A killed process then loses only one step of the trace.
  // Warm-up: traces without writing a file.
  if (steps_ == profile_.wait && profile_.warmup > 0) runner_->trace(trace_.get());
  if (steps_ == first) {
    trace_->open(path_, path_.parent_path().string(), runner_->workers());
    sink_ = trace_.get();
    runner_->trace(sink_);
    if (profile_.operators) operators_.emplace(*sink_);
  }
  if (steps_ == first + profile_.active) end();
  ++steps_;
}

void StepTrace::end() {
  operators_.reset();
  runner_->trace(nullptr);
  trace_->close();
  trace_.reset();
  sink_ = nullptr;
}

StepTrace::Span::Span(StepTrace& trace, const char* name) : sink_(trace.sink_), name_(name) {
  if (sink_ != nullptr) begin_ = SpanSink::Clock::now();
}

StepTrace::Span::~Span() {
  if (sink_ != nullptr) sink_->span(SpanSink::kRun, name_, begin_, SpanSink::Clock::now(), {});
}

}  // namespace plimsoll
