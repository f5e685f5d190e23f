#include "telemetry/journal.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <string_view>
#include <utility>

#include "base/json_text.h"

namespace plimsoll {
namespace {

// Returns the offset after the last newline.
int64_t end_of_lines(const File& file) {
  std::array<char, 4096> piece;
  int64_t end = ::lseek(file.descriptor(), 0, SEEK_END);
  while (end > 0) {
    const int64_t start = std::max<int64_t>(end - static_cast<int64_t>(piece.size()), 0);
    const ssize_t got = ::pread(file.descriptor(), piece.data(), static_cast<size_t>(end - start), start);
    if (got <= 0) throw file_failure("cannot read", file.path());
    const std::string_view text(piece.data(), static_cast<size_t>(got));
    if (const size_t newline = text.rfind('\n'); newline != std::string_view::npos)
      return start + static_cast<int64_t>(newline) + 1;
    end = start;
  }
  return 0;
}

}  // namespace

Journal::Journal(const std::filesystem::path& path) : file_(File::update(path)), end_(end_of_lines(*file_)) {
  if (::ftruncate(file_->descriptor(), end_) != 0) throw file_failure("cannot shorten", path);
}

void Journal::write(const std::string& event, const Json& fields) {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  Json line = {{"time", std::chrono::duration<double>(now).count()}, {"event", event}};
  if (!fields.is_null()) line.update(fields);
  append(json_text(line) + "\n");
}

void Journal::append(const std::string& line) {
  if (!file_) return;
  try {
    file_->write_at(end_, line.data(), line.size());
    end_ += static_cast<int64_t>(line.size());
  } catch (const Failure& error) {
    [[maybe_unused]] const int cut = ::ftruncate(file_->descriptor(), end_);
    if (!std::exchange(told_, true))
      fmt::print(stderr, "plimsoll: events are missing from the journal: {}\n", error.what());
  }
}

}  // namespace plimsoll
