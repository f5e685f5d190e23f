#include "cli/can/truncated_json.h"

namespace plimsoll {

void add_truncated(const std::vector<Recording>& recordings, Json& json) {
  for (const Recording& recording : recordings)
    if (recording.truncated_at) json["truncated_at"][recording.source] = *recording.truncated_at;
}

}  // namespace plimsoll
