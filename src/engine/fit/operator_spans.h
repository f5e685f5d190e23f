#pragma once

#include <cstdint>

#include "base/span_sink.h"

namespace plimsoll {

/// While it lives, reports each operator of torch and each node of a backward pass to a sink, on the track of
/// the calling thread. It uses the observers of torch's own profiler (ATen/record_function.h). Only one may
/// exist at a time. Make and destroy it while no operator runs.
class OperatorSpans {
 public:
  /// `sink` must outlive the object.
  explicit OperatorSpans(SpanSink& sink);
  ~OperatorSpans();
  OperatorSpans(const OperatorSpans&) = delete;
  OperatorSpans& operator=(const OperatorSpans&) = delete;

 private:
  uint64_t handle_;
};

}  // namespace plimsoll
