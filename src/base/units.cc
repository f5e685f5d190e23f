#include "base/units.h"

#include <fmt/format.h>

#include <array>
#include <cctype>
#include <charconv>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

UsageError bad_size(std::string_view text, std::string_view why) {
  return UsageError(fmt::format(
      "size '{}' {}; write it as 512MiB, 2GB, 300000000 (bytes) or 80% (of the detected limit)", text, why));
}

constexpr auto kUnits =
    std::to_array<std::pair<std::string_view, int64_t>>({{"", 1},
                                                         {"b", 1},
                                                         {"k", kKiB},
                                                         {"kib", kKiB},
                                                         {"m", kMiB},
                                                         {"mib", kMiB},
                                                         {"g", kGiB},
                                                         {"gib", kGiB},
                                                         {"t", 1024 * kGiB},
                                                         {"tib", 1024 * kGiB},
                                                         {"kb", 1000},
                                                         {"mb", 1000 * 1000},
                                                         {"gb", 1000 * 1000 * 1000},
                                                         {"tb", int64_t{1000} * 1000 * 1000 * 1000}});

int64_t unit_bytes(std::string_view text, std::string_view unit) {
  std::string lower;
  for (const char c : unit) lower += static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  for (const auto& [name, bytes] : kUnits)
    if (lower == name) return bytes;
  throw bad_size(text, fmt::format("has the unknown unit '{}'", unit));
}

}  // namespace

int64_t parse_size(std::string_view text, int64_t whole) {
  double number = 0;
  const auto [end, failed] = std::from_chars(text.data(), text.data() + text.size(), number);
  if (failed != std::errc() || !std::isfinite(number)) throw bad_size(text, "does not begin with a number");
  if (number <= 0) throw bad_size(text, "is not above zero");
  std::string_view unit(end, static_cast<size_t>(text.data() + text.size() - end));
  while (!unit.empty() && unit.front() == ' ') unit.remove_prefix(1);
  if (unit == "%" && number > 100) throw bad_size(text, "is more than the whole");
  const double bytes = unit == "%" ? number / 100 * static_cast<double>(whole)
                                   : number * static_cast<double>(unit_bytes(text, unit));
  if (bytes > 9e18) throw bad_size(text, "is too large");
  if (bytes < 1) throw bad_size(text, "is less than one byte");
  return static_cast<int64_t>(bytes);
}

std::string format_bytes(int64_t bytes) {
  double value = static_cast<double>(bytes);
  if (std::abs(value) < 1000) return fmt::format("{} B", bytes);
  static constexpr std::array kUnits = {"KiB", "MiB", "GiB", "TiB", "PiB", "EiB"};
  size_t unit = 0;
  // From 999.5 on, three digits would round up to 1000.
  for (value /= kKiB; std::abs(value) >= 999.5 && unit + 1 < kUnits.size(); value /= kKiB) ++unit;
  return fmt::format("{:.3g} {}", value, kUnits[unit]);
}

std::string format_count(int64_t count) {
  std::string digits = std::to_string(count);
  for (int64_t at = static_cast<int64_t>(digits.size()) - 3; at > (count < 0 ? 1 : 0); at -= 3)
    digits.insert(digits.begin() + at, ',');
  return digits;
}

std::string format_seconds(double seconds) {
  if (seconds < 59.995) return fmt::format("{:.2f} s", seconds);
  const auto whole = std::llround(seconds);
  return fmt::format("{} min {:02} s", whole / 60, whole % 60);
}

}  // namespace plimsoll
