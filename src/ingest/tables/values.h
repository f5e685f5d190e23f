#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "memory/vector.h"

namespace plimsoll {

/// The values of one column for a few thousand rows. The type of the column determines which members are
/// used. Buffers are reused for the next chunk, and may be longer than `rows`. Texts are views into the Arrow
/// array.
struct Values {
  size_t rows = 0;
  Vector<uint8_t, Tag::ingest> valid;           ///< [rows] 1 if there is a value, 0 if it is missing.
  Vector<int64_t, Tag::ingest> integers;        ///< [rows] integers, booleans and times.
  Vector<double, Tag::ingest> reals;            ///< [rows], or [rows, width] for vectors.
  Vector<std::string_view, Tag::ingest> texts;  ///< [rows]
  Vector<int64_t, Tag::ingest> lengths;         ///< [rows] number of items in each list; 0 if it is missing.
  std::vector<Values> items;  ///< Has at most one entry: the items of all lists, one list after the other.

  /// Keeps only the rows for which `kept` [rows] is 1. `width` is the number of `reals` per row. Lowers
  /// `rows`, but does not shorten the buffers.
  void keep(std::span<const uint8_t> kept, size_t width);
};

}  // namespace plimsoll
