#pragma once

#include <gtest/gtest.h>

#include <string>
#include <string_view>

namespace plimsoll {

/// Returns the bytes of a safetensors file without its checksum, so that a test can reach other checks on a
/// changed file.
inline std::string without_checksum(std::string bytes) {
  const size_t entry = bytes.find(R"("plimsoll.checksum":)");
  EXPECT_NE(entry, std::string::npos);
  const size_t length = std::string_view(R"("plimsoll.checksum":"0123456789abcdef",)").size();
  return bytes.replace(entry, length, std::string(length, ' '));
}

}  // namespace plimsoll
