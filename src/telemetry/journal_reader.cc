#include "telemetry/journal_reader.h"

#include <algorithm>
#include <fstream>

namespace plimsoll {

void JournalReader::read(const std::function<void(const Json& event)>& take) {
  std::ifstream file(path_, std::ios::binary | std::ios::ate);
  if (!file) return;
  if (static_cast<int64_t>(file.tellg()) < end_) end_ = 0;
  file.seekg(end_);
  // The last line may not have its newline yet.
  for (std::string line; std::getline(file, line) && !file.eof();) {
    end_ += static_cast<int64_t>(line.size()) + 1;
    const Json event = parse_json(line);
    if (event.is_object()) take(event);
  }
}

}  // namespace plimsoll
