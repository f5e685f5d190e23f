#pragma once

#include <CLI/CLI.hpp>
#include <cstdint>

namespace plimsoll {

// Checks for the value of an option. Unlike those of CLI11, they refuse NaN, and their messages are short:
// "found 'nan', expected a number from 0 to 86400".

/// Accepts whole numbers of `min` or more.
CLI::Validator at_least(int64_t min);
/// Accepts numbers from `min` to `max`, both included.
CLI::Validator within(double min, double max);
/// Accepts numbers that are neither infinite nor NaN.
CLI::Validator finite();

}  // namespace plimsoll
