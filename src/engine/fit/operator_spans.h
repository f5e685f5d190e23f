#pragma once

#include <cstdint>

#include "base/span_sink.h"

namespace plimsoll {

/// While it lives, tells a sink of each operator of torch and each node of a backward pass, on the track of
/// the thread that calls it, by the observers that torch's own profiler is made of (ATen/record_function.h).
/// One at a time; made and ended while no operator runs.
class OperatorSpans {
 public:
  /// `sink` must outlive it.
  explicit OperatorSpans(SpanSink& sink);
  ~OperatorSpans();
  OperatorSpans(const OperatorSpans&) = delete;
  OperatorSpans& operator=(const OperatorSpans&) = delete;

 private:
  uint64_t handle_;
};

}  // namespace plimsoll
