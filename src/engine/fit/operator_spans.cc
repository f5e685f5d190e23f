#include "engine/fit/operator_spans.h"

#include <ATen/record_function.h>

#include <atomic>
#include <memory>

namespace plimsoll {
namespace {

std::atomic<SpanSink*> told{nullptr};  // A global, because torch's observers are functions without an object.

struct Begun : at::ObserverContext {
  SpanSink::Clock::time_point at = SpanSink::Clock::now();
};

std::unique_ptr<at::ObserverContext> begin_operator(const at::RecordFunction&) {
  return std::make_unique<Begun>();
}

void end_operator(const at::RecordFunction& function, at::ObserverContext* context) {
  SpanSink* const sink = told.load(std::memory_order_acquire);
  if (sink == nullptr || context == nullptr) return;
  sink->span(SpanSink::of_this_thread(), function.name(), static_cast<Begun*>(context)->at,
             SpanSink::Clock::now(), {});
}

}  // namespace

OperatorSpans::OperatorSpans(SpanSink& sink) {
  told.store(&sink, std::memory_order_release);
  handle_ =
      at::addGlobalCallback(at::RecordFunctionCallback(begin_operator, end_operator)
                                .scopes({at::RecordScope::FUNCTION, at::RecordScope::BACKWARD_FUNCTION}));
}

OperatorSpans::~OperatorSpans() {
  at::removeCallback(handle_);
  told.store(nullptr, std::memory_order_release);
}

}  // namespace plimsoll
