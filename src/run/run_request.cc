#include "run/run_request.h"

namespace plimsoll {

RunOptions RunRequest::stage_options() const {
  return {.memory = memory,
          .prefetch = prefetch,
          .device_budget = device_budget,
          .device_margin = device_margin,
          .device = device,
          .ranks = ranks,
          .exchange = exchange,
          .interrupt = interrupt,
          .observer = observer};
}

}  // namespace plimsoll
