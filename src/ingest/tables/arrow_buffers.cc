#include "ingest/tables/arrow_buffers.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>
#include <utility>

namespace plimsoll {

ArrowBuffers::ArrowBuffers(const ArrowArray& array, std::string where)
    : array_(array), where_(std::move(where)) {
  constexpr int64_t kMax =
      // With this limit, counts of bits and sizes of 32-byte values do not overflow.
      std::numeric_limits<int64_t>::max() / 64;
  if (array.length < 0 || array.offset < 0 || array.n_buffers < 0 || array.n_children < 0 ||
      array.length > kMax || array.offset > kMax)
    throw broken(fmt::format("the length {} and the offset {}", array.length, array.offset));
}

InputError ArrowBuffers::broken(const std::string& what) const {
  return InputError(
      fmt::format("{}: its Arrow array has {}; the source of the stream is broken", where_, what));
}

void ArrowBuffers::require_rows(int64_t first, int64_t rows) const {
  if (first < 0 || rows < 0 || first + rows > array_.length)
    throw broken(fmt::format("{} rows, fewer than its table has", array_.length));
}

const std::byte* ArrowBuffers::data(int64_t buffer, const char* what) const {
  static const std::byte none{};
  const bool there = buffer >= 0 && buffer < array_.n_buffers && array_.buffers != nullptr;
  if (there && array_.buffers[buffer] != nullptr)
    return static_cast<const std::byte*>(array_.buffers[buffer]);
  if (there && array_.length == 0) return &none;
  throw broken(fmt::format("no buffer for {}", what));
}

const ArrowArray& ArrowBuffers::child(int64_t index) const {
  if (index >= array_.n_children || array_.children == nullptr || array_.children[index] == nullptr)
    throw broken(fmt::format("{} children, expected more", array_.n_children));
  return *array_.children[index];
}

void ArrowBuffers::copy_validity(bool all_missing, int64_t begin, int64_t rows,
                                 Vector<uint8_t, Tag::ingest>& valid) const {
  valid.resize(static_cast<size_t>(rows));
  const void* const bits = array_.n_buffers > 0 && array_.buffers != nullptr && array_.null_count != 0
                               ? array_.buffers[0]
                               : nullptr;
  if (all_missing || bits == nullptr) {
    std::ranges::fill(valid, static_cast<uint8_t>(all_missing ? 0 : 1));
    return;
  }
  for (int64_t i = 0; i < rows; ++i)
    valid[static_cast<size_t>(i)] = bit_at(static_cast<const std::byte*>(bits), begin + i) ? 1 : 0;
}

}  // namespace plimsoll
