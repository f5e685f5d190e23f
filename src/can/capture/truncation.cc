#include "can/capture/truncation.h"

#include <fmt/format.h>

#include "base/units.h"

namespace plimsoll {

std::string truncation_text(const std::string& file, const Truncation& truncation, int64_t frames) {
  return fmt::format(
      "{}: is cut off at byte {}: the {} whole frames before it were read, {} bytes after it were left out; "
      "--truncated fail refuses such files",
      file, truncation.at, format_count(frames), format_count(truncation.left_out));
}

}  // namespace plimsoll
