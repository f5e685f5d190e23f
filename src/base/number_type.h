#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace plimsoll {

/// How a column of f32 values is stored: as f32 or in fewer bits. Every value of a narrow type can be
/// represented in f32.
enum class NumberType : uint8_t { f32, f16, bf16, u8, i8 };

/// Returns the size of one number in bytes.
int64_t bytes_of(NumberType type);
/// Converts between a type and its name: "f32", "f16", "bf16", "u8" or "i8". number_type() returns nullopt
/// for other names.
std::string name_of(NumberType type);
std::optional<NumberType> number_type(std::string_view name);

/// Widens to.size() numbers at `from`, exactly. `from` needs no alignment and must not overlap `to`.
void widen(NumberType type, const std::byte* from, std::span<float> to);
/// Rounds each value to the nearest value of the type, ties to even (IEEE 754), and writes from.size()
/// numbers to `to`. Values too large for f16 and bf16 become infinite. u8 and i8 clamp to their range and
/// store NaN as 0.
void round_to(NumberType type, std::span<const float> from, std::byte* to);
/// Returns whether every value keeps all its bits when it is rounded to `type`. -0 does not survive as u8.
bool survives(NumberType type, std::span<const float> values);

}  // namespace plimsoll
