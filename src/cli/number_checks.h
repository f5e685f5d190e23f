#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace plimsoll {

/// Checks the value of an option like CLI::Range, but refuses numbers that are not finite and has a shorter
/// message: "found 'nan', expected a number from 0 to 86400".
CLI::Validator at_least(int64_t min);
CLI::Validator within(double min, double max);
CLI::Validator finite();

}  // namespace plimsoll
