#pragma once

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "base/error.h"
#include "memory/vector.h"

namespace plimsoll {

/// Columns of whole numbers from 0 to 2^32-1 in scratch files, each number with as many bytes as the largest
/// of its column needs, so that a sample is short. A column is one byte with this width, 0 to 4, followed by
/// the numbers, little-endian.
class NarrowNumbers {
 public:
  /// Returns the bytes of a number if `max` is the largest.
  static constexpr int width(uint64_t max) { return (std::bit_width(max) + 7) / 8; }

  /// Appends a column. Errors: BudgetExceeded.
  template <typename T>
  static void append(std::span<const T> numbers, Vector<std::byte, Tag::blocks>& to) {
    const T max = numbers.empty() ? T{0} : std::ranges::max(numbers);
    const int bytes = width(static_cast<uint64_t>(max));
    const size_t begin = to.size();
    to.resize(begin + 1 + numbers.size() * static_cast<size_t>(bytes));
    to[begin] = static_cast<std::byte>(bytes);
    with_width(bytes, [&]<size_t kWidth>() {
      std::byte* at = to.data() + begin + 1;
      for (const T number : numbers) {
        const auto narrow = static_cast<uint32_t>(number);
        std::memcpy(at, &narrow, kWidth);
        at += kWidth;
      }
    });
  }

  /// Reads a column of numbers.size() numbers from the start of `from`, which then starts after it. Errors:
  /// Failure if the bytes are not a column of this length.
  template <typename T>
  static void take(std::span<const std::byte>& from, std::span<T> numbers) {
    const int bytes = from.empty() ? -1 : std::to_integer<int>(from.front());
    if (bytes < 0 || bytes > 4 || from.size() - 1 < numbers.size() * static_cast<size_t>(bytes))
      throw Failure("a sample in a scratch file is damaged");
    from = from.subspan(1);
    with_width(bytes, [&]<size_t kWidth>() {
      const std::byte* at = from.data();
      for (T& number : numbers) {
        uint32_t wide = 0;
        std::memcpy(&wide, at, kWidth);
        number = static_cast<T>(wide);
        at += kWidth;
      }
    });
    from = from.subspan(numbers.size() * static_cast<size_t>(bytes));
  }

 private:
  // The width is a constant in the loops, so that a number costs one or two instructions.
  template <typename Loop>
  static void with_width(int bytes, const Loop& loop) {
    if (bytes == 0) return loop.template operator()<0>();
    if (bytes == 1) return loop.template operator()<1>();
    if (bytes == 2) return loop.template operator()<2>();
    if (bytes == 3) return loop.template operator()<3>();
    loop.template operator()<4>();
  }
};

static_assert(std::endian::native == std::endian::little);

}  // namespace plimsoll
