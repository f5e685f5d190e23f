#pragma once

#include <string_view>

namespace plimsoll {

/// dygraphs (third_party/dygraphs, MIT) and its style sheet, which CMake makes part of the program.
extern const std::string_view kDygraphs;
extern const std::string_view kDygraphsStyle;
/// What makes charts of stacked areas live: areas.js.
extern const std::string_view kAreasScript;

}  // namespace plimsoll
