#include "can/recipe/window_length.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr std::array<std::pair<std::string_view, double>, 4> kUnits = {
    {{"s", 1e9}, {"ms", 1e6}, {"us", 1e3}, {"ns", 1}}};

}  // namespace

WindowLength WindowLength::parse(std::string_view text) {
  const UsageError error(
      fmt::format("'{}' is not the length of a window; write 100 (frames), 250us, 50ms or 1.5s", text));
  int64_t whole = 0;
  const char* const end = text.data() + text.size();
  if (const auto [stop, failed] = std::from_chars(text.data(), end, whole);
      failed == std::errc() && stop == end)
    return {whole, WindowUnit::frames};
  double number = 0;
  const auto [stop, failed] = std::from_chars(text.data(), end, number);
  if (failed != std::errc() || !std::isfinite(number) || number < 0) throw error;
  std::string_view unit(stop, static_cast<size_t>(end - stop));
  while (unit.starts_with(' ')) unit.remove_prefix(1);
  for (const auto& [name, ns] : kUnits)
    if (unit == name)
      return {static_cast<int64_t>(std::llround(std::min(number * ns, 1e18))), WindowUnit::nanoseconds};
  throw error;
}

std::string WindowLength::text() const {
  if (unit == WindowUnit::frames) return std::to_string(value);
  for (const auto& [name, ns] : kUnits)
    if (value % static_cast<int64_t>(ns) == 0)
      return fmt::format("{}{}", value / static_cast<int64_t>(ns), name);
  return fmt::format("{}ns", value);
}

}  // namespace plimsoll
