#pragma once

#include <filesystem>
#include <string>

#include "base/json.h"
#include "cli/command.h"

namespace plimsoll {

/// What a verb that makes a data set says of it: one JSON object, or a few lines.
struct MadeSet {
  std::filesystem::path out;
  bool already_there = false;
  Json counts;          ///< of --json
  std::string text;     ///< "1,200 graphs": follows "OUT: "
  std::string from;     ///< "sources": what a set that is there already was made from
  std::string remarks;  ///< lines of their own, each with its end; may be empty
  std::string took;     ///< "0.19 s (8,166,861 frames/s)"
};

void print_made(const MadeSet& made, double seconds, Budget& budget, bool json);

/// "8,166,861 frames/s"
std::string format_rate(int64_t count, double seconds, const char* of);

}  // namespace plimsoll
