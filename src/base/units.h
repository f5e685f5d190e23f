#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = 1024 * kKiB;
inline constexpr int64_t kGiB = 1024 * kMiB;

/// Parses "512MiB", "2GB" (powers of 1000), "4K" (K, M, G and T alone are powers of 1024), "1000000" or "80%"
/// (of `whole`, in bytes) and returns bytes, rounded down. Units may be in upper or lower case. Errors:
/// UsageError that lists the accepted forms, also for sizes below one byte, above 9e18 bytes or above 100 %.
int64_t parse_size(std::string_view text, int64_t whole);

/// Formats a size for people: up to three digits and a binary unit, as in "97.4 MiB". Sizes below 1000 bytes
/// are exact: "999 B".
std::string format_bytes(int64_t bytes);

/// Formats a count with separators: "1,234,567".
std::string format_count(int64_t count);

/// Formats a duration: "0.42 s", "3 min 05 s".
std::string format_seconds(double seconds);

}  // namespace plimsoll
