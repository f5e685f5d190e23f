#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace plimsoll {

/// Checks of an option's text, as CLI::Range, that refuse what is no finite number too and whose message is
/// short: "found 'nan', expected a number from 0 to 86400".
CLI::Validator at_least(int64_t min);
CLI::Validator within(double min, double max);
CLI::Validator finite();

}  // namespace plimsoll
