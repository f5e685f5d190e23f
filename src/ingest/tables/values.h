#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "memory/vector.h"

namespace plimsoll {

/// The values of one column in a few thousand rows, in the form that the type of the column determines.
/// Buffers are reused for the next chunk. Texts are views of the Arrow array.
struct Values {
  size_t rows = 0;
  Vector<uint8_t, Tag::ingest> valid;           ///< [rows] 1 if there is a value, 0 if it is missing.
  Vector<int64_t, Tag::ingest> integers;        ///< [rows] integers, booleans and times.
  Vector<double, Tag::ingest> reals;            ///< [rows], or [rows, width] for vectors.
  Vector<std::string_view, Tag::ingest> texts;  ///< [rows]
  Vector<int64_t, Tag::ingest> lengths;         ///< [rows] number of items in each list; 0 if it is missing.
  std::vector<Values> items;  ///< The items of all lists, one after the other; this vector has one
                              ///< entry or none.

  /// Keeps only the rows for which `kept` is 1.
  void keep(std::span<const uint8_t> kept, size_t width);
};

}  // namespace plimsoll
