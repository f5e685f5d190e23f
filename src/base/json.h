#pragma once

// The only header that includes nlohmann-json. ordered_json keeps the order of keys, so equal manifests have
// equal bytes.
#include <array>
#include <cstdint>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>
#include <vector>

#include "base/words.h"

namespace plimsoll {
using Json = nlohmann::ordered_json;

/// Writes an enum value as its text in the enum's table of words (base/words.h).
template <Worded Enum>
void to_json(Json& json, Enum value) {
  json = std::string(word_of(value));
}

/// Limits on the text of a file while it is parsed: at most 100 arrays and objects around a value, because
/// copying, comparing and printing recurse on the stack, and at most 4,096 keys per object, because each new
/// key is compared with all earlier ones.
class JsonLimits {
 public:
  /// Checks one event of the parse, with the arguments of nlohmann-json's parser callback. Returns false for
  /// the first event that exceeds a limit and for all later ones.
  bool keeps(int depth, Json::parse_event_t event);
  /// Whether a limit was exceeded.
  bool passed() const { return passed_; }

 private:
  static constexpr int kDeepest = 100;
  static constexpr int kMaxKeys = 4096;

  bool passed_ = false;
  std::array<int, kDeepest + 2> keys_{};  // Keys of the open objects, by depth.
};

/// Returns the number as int64. Errors: UsageError for anything but a whole number that fits into 64 bits.
/// The conversion of nlohmann-json truncates fractions and is undefined beyond 64 bits.
int64_t whole_number(const Json& json);
/// Returns an array of whole numbers. Errors: UsageError for a value that is not an array, and the errors of
/// whole_number() for each element.
std::vector<int64_t> whole_numbers(const Json& json);

/// Parses the text of a file. The result is discarded (Json::is_discarded) if the text is not JSON or exceeds
/// JsonLimits.
Json parse_json(std::string_view text);

}  // namespace plimsoll
