#include "engine/plan/start_up.h"

#include <fmt/format.h>

#include "base/units.h"

namespace plimsoll {

Json start_up_json(const StartUpCost& cost) {
  return {{"blocks", cost.graphs},
          {"seconds", cost.seconds},
          {"bytes_read", cost.bytes_read},
          {"bytes_written", cost.bytes_written}};
}

std::string start_up_in_words(const StartUpCost& cost) {
  return fmt::format("start-up: {} blocks sampled in {}, {} read, {} written", format_count(cost.graphs),
                     format_seconds(cost.seconds), format_bytes(cost.bytes_read),
                     format_bytes(cost.bytes_written));
}

}  // namespace plimsoll
