#pragma once

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <string_view>

#include "base/error.h"
#include "memory/ledger.h"

namespace plimsoll {

/// Ends the program when a property does not hold, so that libFuzzer keeps the input.
inline void expect(bool holds, const char* property) {
  if (holds) return;
  std::fprintf(stderr, "fuzz: does not hold: %s\n", property);
  std::abort();
}

/// Runs `body` and returns whether it ended without an error. The errors for bad input are expected; any
/// other exception, including Failure, is a finding, and so is memory that stays in the ledger.
template <typename Body>
bool succeeds(Body&& body) {
  const int64_t held = Ledger::process().held();
  bool done = false;
  try {
    body();
    done = true;
  } catch (const Failure&) {
    throw;
  } catch (const Error& error) {
    expect(*error.what() != '\0', "an error has a text");
  }
  expect(Ledger::process().held() == held, "all memory is struck out of the ledger");
  return done;
}

inline std::string_view text_of(const uint8_t* data, size_t size) {
  return {reinterpret_cast<const char*>(data), size};
}

/// Removes the first line from `text` and returns it.
inline std::string_view take_line(std::string_view& text) {
  const std::string_view line = text.substr(0, text.find('\n'));
  text.remove_prefix(std::min(line.size() + 1, text.size()));
  return line;
}

}  // namespace plimsoll
