#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

/// How the numbers of a column are stored whose values are f32: as they are, or in fewer bits. Every value of
/// a narrow type is a value of f32.
enum class NumberType : uint8_t { f32, f16, bf16, u8, i8 };

/// Bytes of one number.
int64_t bytes_of(NumberType type);
/// "f32", "f16", "bf16", "u8" or "i8"; and the type that has this name.
std::string name_of(NumberType type);
std::optional<NumberType> number_type(std::string_view name);

/// Widens to.size() numbers at `from`, which needs no alignment and does not overlap `to`. Exact.
void widen(NumberType type, const std::byte* from, std::span<float> to);
/// Rounds each value to the nearest of a type, ties to even (IEEE 754), into from.size() numbers at `to`.
/// What is too large for f16 and bf16 becomes infinite; u8 and i8 take the nearest of their range, and 0 for
/// NaN.
void round_to(NumberType type, std::span<const float> from, std::byte* to);
/// Whether rounding changes no bit of any value: -0 is no u8.
bool survives(NumberType type, std::span<const float> values);

}  // namespace plimsoll
