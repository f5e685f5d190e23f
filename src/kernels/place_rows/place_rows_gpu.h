#pragma once

#include <cstdint>

namespace plimsoll {

/// Rows of features, some of which are on a device and others in pinned memory (GraphBlock::row_place).
struct PlacedRows {
  const float* kept;      ///< [.., features] on the device.
  const float* coming;    ///< [.., features] in pinned memory.
  const int32_t* places;  ///< [rows] on the device: p for row p of `kept`, -1 - p for row p of `coming`.
  int64_t rows;
  int64_t features;
  float* out;  ///< [rows, features] on the device.
};

/// Copies each row to its place in `out`. A GPU reads pinned memory over the bus, so the rows in pinned
/// memory need no device memory other than `out`. All arrays are aligned to 16 bytes. attention_gpu.h
/// describes the stream, errors, and builds without CUDA.
void place_rows_cuda(const PlacedRows& rows, void* stream);

}  // namespace plimsoll
