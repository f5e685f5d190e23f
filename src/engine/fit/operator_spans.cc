#include "engine/fit/operator_spans.h"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>

namespace plimsoll {
namespace {

std::atomic<SpanSink*> current_sink{
    nullptr};  // A global, because torch's observers are functions without an object.

struct OpenSpan : at::ObserverContext {
  SpanSink::Clock::time_point at = SpanSink::Clock::now();
};

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction&) {
  return std::make_unique<OpenSpan>();
}

void end_operator(const at::RecordFunction& function, at::ObserverContext* context) {
  SpanSink* const sink = current_sink.load(std::memory_order_acquire);
  if (sink == nullptr || context == nullptr) return;
  sink->span(SpanSink::of_this_thread(), function.name(), static_cast<OpenSpan*>(context)->at,
             SpanSink::Clock::now(), {});
}

}  // namespace

OperatorSpans::OperatorSpans(SpanSink& sink) {
  current_sink.store(&sink, std::memory_order_release);
  handle_ =
      at::addGlobalCallback(at::RecordFunctionCallback(begin_operator, end_operator)
                                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OperatorSpans::~OperatorSpans() {
  at::removeCallback(handle_);
  current_sink.store(nullptr, std::memory_order_release);
}

}  // namespace plimsoll
