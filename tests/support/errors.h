#pragma once

#include <gtest/gtest.h>

#include <string>

#include "base/error.h"

namespace plimsoll {

/// Runs `action` and returns the text of the `Kind` of error that it throws. Any other end is a failure of
/// the test.
template <typename Kind, typename Action>
std::string error_text(Action&& action) {
  try {
    action();
  } catch (const Kind& error) {
    return error.what();
  } catch (const std::exception& error) {
    ADD_FAILURE() << "another kind of error: " << error.what();
    return "";
  }
  ADD_FAILURE() << "no error";
  return "";
}

}  // namespace plimsoll
