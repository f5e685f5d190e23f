#pragma once

#include <cstdint>

namespace plimsoll {

/// Rows of features of which some are on a device, and the others come (GraphBlock::row_place).
struct PlacedRows {
  const float* kept;      ///< [.., features] on the device
  const float* coming;    ///< [.., features] in pinned memory
  const int32_t* places;  ///< [rows] on the device: p for row p of `kept`, -1 - p for row p of `coming`
  int64_t rows;
  int64_t features;
  float* out;  ///< [rows, features] on the device
};

/// Puts each row in its place in `out`. A GPU reads pinned memory where it lies, by way of the bus, so that
/// rows that come take no room beside `out`. All arrays lie aligned to 16 bytes. Stream, errors and builds
/// without CUDA are as in attention_cuda.h.
void place_rows_cuda(const PlacedRows& rows, void* stream);

}  // namespace plimsoll
