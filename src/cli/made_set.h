#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "cli/command.h"

namespace plimsoll {

/// The report of a verb that makes a data set: one JSON object, or a few lines.
struct MadeSet {
  std::filesystem::path out;
  bool already_there = false;  ///< Nothing was done, because `out` was complete.
  Json counts;                 ///< Counts for --json.
  std::string text;            ///< Text after "OUT: ", such as "1,200 graphs".
  std::string from;            ///< If already_there: the inputs from which it was made, such as "sources".
  std::string remarks;         ///< Further lines, each with its newline; may be empty.
  std::string took;            ///< Duration and rate, such as "0.19 s (8,166,861 rows/s)".
};

/// Prints the report to stdout. `seconds` is shown only in JSON; in text, `took` states the time.
void print_made(const MadeSet& made, double seconds, Budget& budget, bool json);

/// Formats a rate, such as "8,166,861 rows/s". `seconds` must be more than 0.
std::string format_rate(int64_t count, double seconds, const char* unit);

}  // namespace plimsoll
