#include "telemetry/progress.h"

#include <fmt/format.h>
#include <unistd.h>

#include <algorithm>
#include <cstdio>

#include "base/units.h"

namespace plimsoll {
namespace {

std::string clock_time(double seconds) {
  const auto whole = static_cast<int64_t>(seconds);
  return fmt::format("{:02}:{:02}", whole / 60, whole % 60);
}

}  // namespace

Progress::Progress(std::string title, std::string what, Unit unit)
    : title_(std::move(title)),
      what_(std::move(what)),
      unit_(unit),
      terminal_(::isatty(STDERR_FILENO) != 0) {}

Progress::~Progress() {
  if (terminal_ && drawn_) std::fputs("\r\x1b[K", stderr);
}

void Progress::update(int64_t done, int64_t total, const std::string& note) {
  const Clock::time_point now = Clock::now();
  const auto pause = terminal_ ? std::chrono::milliseconds(200) : std::chrono::milliseconds(30'000);
  if (now - last_ < pause) return;
  last_ = now;
  draw(done, total, note, std::chrono::duration<double>(now - start_).count());
}

// A total of 0 means that it is unknown: neither a share nor the remaining time is shown.
void Progress::draw(int64_t done, int64_t total, const std::string& note, double elapsed) {
  const double share = total > 0 ? std::min(1.0, static_cast<double>(done) / static_cast<double>(total)) : 0;
  const double rate = elapsed > 0 ? static_cast<double>(done) / elapsed : 0;
  const double left = rate > 0 ? static_cast<double>(total - done) / rate : 0;
  const auto shown = [&](int64_t value) {
    return unit_ == Unit::bytes ? format_bytes(value) : format_count(value);
  };
  std::string line = total > 0 ? fmt::format("{} {:3.0f}%", title_, share * 100) : title_;
  if (terminal_ && total > 0) {
    constexpr int kBarWidth = 20;
    const int filled = static_cast<int>(share * kBarWidth);
    line += fmt::format("|{:#<{}}{: <{}}|", "", filled, "", kBarWidth - filled);
  }
  const std::string of_total = total > 0 ? fmt::format("/{}", shown(total)) : "";
  const std::string time_left =
      total > 0 && left <= kMaxEstimateSeconds ? fmt::format("<{}", clock_time(left)) : "";
  line += fmt::format(" {}{} {}[{}{}, {}/s{}]", shown(done), of_total, what_.empty() ? "" : what_ + " ",
                      clock_time(elapsed), time_left, shown(static_cast<int64_t>(rate)),
                      note.empty() ? "" : ", " + note);
  // fmt::print would throw if the terminal is gone, which would end the work.
  std::fputs(fmt::format("{}{}{}", terminal_ ? "\r\x1b[K" : "", line, terminal_ ? "" : "\n").c_str(), stderr);
  std::fflush(stderr);
  drawn_ = true;
}

}  // namespace plimsoll
