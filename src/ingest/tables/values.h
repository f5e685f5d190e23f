#pragma once

#include <cstdint>
#include <span>
#include <string_view>
#include <vector>

#include "memory/vector.h"

namespace plimsoll {

/// The values of one column in a few thousand rows, in the form that the type of the column asks for. Buffers
/// are reused from one chunk to the next. Texts are borrowed from the Arrow array.
struct Values {
  size_t rows = 0;
  Vector<uint8_t, Tag::ingest> valid;           ///< [rows] 1 where there is a value, 0 where it is missing.
  Vector<int64_t, Tag::ingest> integers;        ///< [rows] integers, booleans and times.
  Vector<double, Tag::ingest> reals;            ///< [rows], or [rows, width] for vectors.
  Vector<std::string_view, Tag::ingest> texts;  ///< [rows]
  Vector<int64_t, Tag::ingest> lengths;  ///< [rows] number of items of each list; 0 where it is missing.
  std::vector<Values> items;             ///< The items of all lists, one after the other; one or none.

  /// Keeps the rows at which `kept` is 1.
  void keep(std::span<const uint8_t> kept, size_t width);
};

}  // namespace plimsoll
