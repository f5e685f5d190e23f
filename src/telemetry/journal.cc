#include "telemetry/journal.h"

#include <chrono>

#include "base/error.h"

namespace plimsoll {

Journal::Journal(const std::filesystem::path& path) : file_(path, std::ios::app) {
  if (!file_) throw system_failure("cannot open", path.string());
}

void Journal::write(const std::string& event, const Json& fields) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json line = {{"time", std::chrono::duration<double>(now).count()}, {"event", event}};
  line.update(fields);
  file_ << line.dump() << std::endl;
}

}  // namespace plimsoll
