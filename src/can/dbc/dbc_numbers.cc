#include "can/dbc/dbc_numbers.h"

#include <charconv>
#include <limits>

#include "can/frames/frames.h"

namespace plimsoll {
namespace {

template <typename T>
std::optional<T> number_in(std::string_view text, int base) {
  T value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value, base);
  return failed == std::errc() && stop == end ? std::optional(value) : std::nullopt;
}

std::string_view without_plus(std::string_view text) {
  if (text.starts_with('+')) text.remove_prefix(1);
  return text;
}

std::optional<uint32_t> id_as_written(std::string_view text) {
  const bool is_hex = text.starts_with("0x") || text.starts_with("0X");
  return number_in<uint32_t>(is_hex ? text.substr(2) : text, is_hex ? 16 : 10);
}

constexpr uint32_t kMaxStandard = 0x7FF;

}  // namespace

std::optional<int64_t> dbc_integer(std::string_view text) {
  return number_in<int64_t>(without_plus(text), 10);
}

std::optional<double> dbc_number(std::string_view text) {
  text = without_plus(text);
  double value = 0;
  const char* const end = text.data() + text.size();
  const auto [stop, failed] = std::from_chars(text.data(), end, value);
  if (stop != end || text.empty()) return std::nullopt;
  if (failed == std::errc()) return value;
  const bool is_small =
      text.find("e-") != std::string_view::npos || text.find("E-") != std::string_view::npos;
  if (is_small) return 0;
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  return text.starts_with('-') ? -kInfinity : kInfinity;
}

std::optional<uint32_t> dbc_can_id(std::string_view text) {
  const std::optional<uint32_t> id = id_as_written(text);
  if (!id || (*id & (kCanRemote | kCanError)) != 0) return std::nullopt;
  return *id > kMaxStandard ? *id | kCanExtended : *id;
}

bool lacks_extended_bit(std::string_view text) {
  const std::optional<uint32_t> id = id_as_written(text);
  return id && *id > kMaxStandard && (*id & kCanExtended) == 0;
}

}  // namespace plimsoll
