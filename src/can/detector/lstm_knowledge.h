#pragma once

#include <array>
#include <string>

#include "can/detector/packed_linear.h"

namespace plimsoll {

/// The forward pass of jumping knowledge by a bidirectional LSTM over the layers (nn/jumping_knowledge.h,
/// mode "lstm"). Keeps its scratch memory from graph to graph. Not thread-safe.
class LstmKnowledge {
 public:
  /// Errors: InputError that names a tensor that is missing or misshapen; BudgetExceeded.
  LstmKnowledge(const SafetensorsView& file, const std::string& prefix, int64_t layers, int64_t channels);

  /// Maps outputs [layers, rows, channels] to joined [rows, channels]. Errors: BudgetExceeded.
  void forward(const float* outputs, int64_t rows, float* joined);

 private:
  struct Direction {
    PackedLinear input, hidden;
  };
  void step(const Direction& direction, const float* x, int64_t rows);

  int64_t layers_;
  int64_t channels_;
  int64_t hidden_;
  std::array<Direction, 2> directions_;  // Forward, backward.
  PackedLinear attention_;
  Vector<float, Tag::blocks> gates_, more_, state_, cell_;
  Vector<float, Tag::blocks> both_;    // [layers, rows, 2 H] Outputs of both directions.
  Vector<float, Tag::blocks> scores_;  // [layers, rows]
};

}  // namespace plimsoll
