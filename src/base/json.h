#pragma once

// The one place where nlohmann-json enters. ordered_json keeps keys as written: manifests are the same bytes
// each time.
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string_view>
#include <vector>

namespace plimsoll {
using Json = nlohmann::ordered_json;

/// Keeps the parse of a file's text within limits. No deeper than 100 levels: copying, comparing and printing
/// go down level by level on the stack. No more than 4,096 keys an object: each is looked for among those
/// before it.
class JsonLimits {
 public:
  /// To be asked at each event of the parse; false from the first one on that goes too far.
  bool keeps(int depth, Json::parse_event_t event);
  bool passed() const { return passed_; }

 private:
  static constexpr int kDeepest = 100;
  static constexpr int kMaxKeys = 4096;

  bool passed_ = false;
  std::array<int, kDeepest + 2> keys_{};  // of the objects that are open, by depth
};

/// Errors: UsageError for anything but a whole number of 64 bits; Json itself converts fractions, and one
/// beyond 64 bits has no conversion.
int64_t whole_number(const Json& json);
/// The same of an array of them. Errors: also UsageError for what is no array.
std::vector<int64_t> whole_numbers(const Json& json);

/// The JSON in a file's text. Discarded (Json::is_discarded) when it is none, or passes JsonLimits.
Json parse_json(std::string_view text);

}  // namespace plimsoll
