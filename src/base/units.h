#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace plimsoll {

inline constexpr int64_t kKiB = 1024;
inline constexpr int64_t kMiB = 1024 * kKiB;
inline constexpr int64_t kGiB = 1024 * kMiB;

/// Bytes of "512MiB", "2GB" (powers of 1000), "4K" (K, M, G alone are powers of 1024), "1000000" or "80%" (of
/// `whole`). Errors: UsageError that shows what is understood; also for 0, for negative sizes and for a share
/// over 100 %.
int64_t parse_size(std::string_view text, int64_t whole);

/// "97.4 MiB": three digits and a binary unit, for people.
std::string format_bytes(int64_t bytes);

/// "1,234,567"
std::string format_count(int64_t count);

/// "0.42 s", "3 min 05 s"
std::string format_seconds(double seconds);

}  // namespace plimsoll
