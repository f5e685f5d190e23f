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
  if (!fields.is_null()) line.update(fields);
  // File names need not be UTF-8: a replacement character in a note is better than the end of a run.
  file_ << line.dump(-1, ' ', false, Json::error_handler_t::replace) << std::endl;
}

}  // namespace plimsoll
