#include "ingest/swc/swc_rows.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cmath>
#include <limits>

#include "base/error.h"
#include "base/shown.h"
#include "ingest/text/characters.h"

namespace plimsoll {
namespace {

constexpr int64_t kMaxId = std::numeric_limits<int32_t>::max();

class SwcParser {
 public:
  SwcParser(const std::string& name, SwcRows& rows) : name_(name), rows_(rows) {}

  void read(std::string_view text) {
    while (!text.empty()) {
      const size_t end = text.find('\n');
      std::string_view line = text.substr(0, end);
      text.remove_prefix(end == std::string_view::npos ? text.size() : end + 1);
      if (++line_ == std::numeric_limits<int32_t>::max())
        throw InputError(name_ + ": has 2^31 lines or more, expected the points of one neuron");
      while (!line.empty() && (line.back() == '\r' || is_blank(line.back()))) line.remove_suffix(1);
      while (!line.empty() && is_blank(line.front())) line.remove_prefix(1);
      if (line.empty()) continue;
      if (line.front() == '#')
        read_scale(line.substr(1));
      else
        read_point(line);
    }
    if (rows_.points.empty())
      throw InputError(name_ + ": holds no points, expected lines of `id type x y z radius parent`");
    for (SwcRows::Point& point : rows_.points) {
      point.x *= scale_[0];
      point.y *= scale_[1];
      point.z *= scale_[2];
      if (std::isfinite(point.x) && std::isfinite(point.y) && std::isfinite(point.z)) continue;
      throw InputError(
          fmt::format("{}:{}: found a coordinate beyond 3.4e38 after SCALE {} {} {}, expected finite numbers",
                      name_, point.line, scale_[0], scale_[1], scale_[2]));
    }
  }

 private:
  [[noreturn]] void refuse(std::string_view found, const char* expected) const {
    throw InputError(fmt::format("{}:{}: found '{}', expected {}", name_, line_, shown(found), expected));
  }

  template <typename Number>
  Number number(std::string_view& rest, const char* expected) const {
    const std::string_view word = take_word(rest);
    std::string_view digits = word;
    if (digits.starts_with('+')) digits.remove_prefix(1);
    Number value{};
    const auto [end, error] = std::from_chars(digits.data(), digits.data() + digits.size(), value);
    if (error != std::errc{} || end != digits.data() + digits.size()) refuse(word, expected);
    if constexpr (std::is_floating_point_v<Number>)
      if (!std::isfinite(value)) refuse(word, expected);
    return value;
  }

  void read_point(std::string_view line) {
    SwcRows::Point point;
    point.id = number<int64_t>(line, "an id, a whole number: the fields are id type x y z radius parent");
    if (point.id < 0 || point.id > kMaxId) refuse(std::to_string(point.id), "an id of 0 to 2^31 - 1");
    point.type = number<int32_t>(line, "a type, a whole number such as 1 for soma or 2 for axon");
    point.x = number<float>(line, "the coordinate x, a finite number");
    point.y = number<float>(line, "the coordinate y, a finite number");
    point.z = number<float>(line, "the coordinate z, a finite number");
    point.radius = number<float>(line, "a radius, a finite number");
    point.parent = number<int64_t>(line, "the id of the parent, a whole number, -1 for a root");
    point.line = static_cast<int32_t>(line_);
    rows_.points.push_back(point);
  }

  void read_scale(std::string_view comment) {
    while (!comment.empty() && (is_blank(comment.front()) || comment.front() == '#'))
      comment.remove_prefix(1);
    const std::string_view word = take_word(comment);
    if (word != "SCALE" && word != "scale" && word != "Scale") return;
    std::array<float, 3> scale{};
    for (float& factor : scale) {
      // "SCALE 1.0 1.0 1.0"; other words after SCALE are prose.
      const std::string_view value = take_word(comment);
      const auto [end, error] = std::from_chars(value.data(), value.data() + value.size(), factor);
      if (error != std::errc{} || end != value.data() + value.size()) return;
      if (!std::isfinite(factor)) refuse(value, "three scales, finite numbers");
    }
    scale_ = scale;
  }

  const std::string& name_;
  SwcRows& rows_;
  int64_t line_ = 0;
  std::array<float, 3> scale_ = {1, 1, 1};
};

}  // namespace

void read_swc(std::string_view text, const std::string& name, SwcRows& rows) {
  rows.points.clear();
  SwcParser(name, rows).read(text);
}

}  // namespace plimsoll
