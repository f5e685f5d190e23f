#pragma once

#include <concepts>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/number_text.h"

namespace plimsoll {

// Checks of values in recipes, one type for each kind of value. Each section lists its keys in visit_keys(),
// which calls visit(key, value, check) with one of these checks.

/// A number from `min` to `max`, both included.
struct Range {
  double min;
  double max;
};
/// A word of an enum (base/words.h).
template <typename Enum>
struct Choice {};
/// A word of a list that is known when the program runs.
struct OneOf {
  std::vector<std::string_view> words;
};
/// "true" or "false".
struct Flag {};
/// A list of whole numbers from `min` to `max`, both included.
struct EachInRange {
  double min;
  double max;
  bool may_be_empty = false;
};
/// The name of a preset. A preset sets the keys of its section that are listed after it.
template <typename Section>
struct Preset {
  Section& section;
};
struct Names {};  ///< Names that occur in the data.
struct Text {};   ///< Any text.
/// "auto", or a number from `min` to `max`, both included, which must be whole if `whole` is set.
struct AutoOr {
  double min;
  double max;
  bool whole = false;
};
// Ranges of options in a model file. They are wider than those of a recipe, but must be checked, because
// files are not trusted.
struct WholeOption {
  int64_t min;
  int64_t max;
};
struct RealOption {
  double min;
  double max;
};
/// Maximum size in the options of a model, in a recipe or in a file.
inline constexpr int64_t kMaxSizeOption = int64_t{1} << 24;
inline constexpr WholeOption kSizeOption{1, kMaxSizeOption};
inline constexpr WholeOption kSizeOrNoneOption{0, kMaxSizeOption};
inline constexpr WholeOption kLayersOption{1, 4096};
inline constexpr RealOption kDropoutOption{0, 1};

inline constexpr double kUnbounded = std::numeric_limits<double>::infinity();
inline constexpr Range kCount{1, 1e12};

/// A section that is either read or written.
template <typename T, typename Section>
concept EitherOf = std::same_as<std::remove_const_t<T>, Section>;

/// `auto`, or a number that was checked when the recipe was read. It is stored as text, because the identity
/// of a run contains the number as it was written.
struct AutoOrNumber {
  static constexpr const char* kAuto = "auto";

  std::string text = kAuto;

  bool is_auto() const { return text == kAuto; }
  /// Returns the number; call it only if is_auto() is false.
  template <typename Number>
  Number number() const {
    return parse_number<Number>(text).value();
  }
};

}  // namespace plimsoll
