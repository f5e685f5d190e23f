#include "can/recipe/windows.h"

#include <fmt/format.h>

#include "base/error.h"

namespace plimsoll {

void read_value(const std::string& key, WindowLength& value, const Range& frames, const Written& written) {
  require_single(key, written);
  try {
    value = WindowLength::parse(written.text);
  } catch (const UsageError& error) {
    throw UsageError(fmt::format("{}: {}: {}", written.where, key, error.what()));
  }
  if (value.unit == WindowUnit::frames) {
    read_value(key, value.value, frames, written);
  } else if (value.value < WindowLength::kMinTime || value.value > WindowLength::kMaxTime) {
    throw UsageError(fmt::format("{}: {} is {}, expected 1us to 3600s", written.where, key, written.text));
  }
}

std::string value_text(const WindowLength& value) {
  return value.text();
}

void settle_windows(WindowSection& windows, const WrittenValues& written) {
  const auto where = [&](const char* key) {
    const auto found = written.find(key);
    return found == written.end() ? std::string() : found->second.where + ": ";
  };
  const bool by_time = windows.window.unit == WindowUnit::nanoseconds;
  if (by_time && !written.contains("data.stride")) windows.stride = windows.window;
  if (windows.stride.unit != windows.window.unit)
    throw UsageError(
        fmt::format("{}data.stride is {} and data.window {}, expected both as frames or both as time",
                    where("data.stride"), windows.stride.text(), windows.window.text()));
  if (by_time && windows.features == WindowFeatures::compat)
    throw UsageError(fmt::format(
        "{}data.window is {}, but data.features compat counts frames; set data.features: behaviour, or give "
        "a number of frames",
        where("data.window"), windows.window.text()));
}

}  // namespace plimsoll
