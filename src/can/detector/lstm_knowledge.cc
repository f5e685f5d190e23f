#include "can/detector/lstm_knowledge.h"

#include <algorithm>
#include <cmath>

namespace plimsoll {
namespace {

float sigmoid(float x) {
  return 1.0F / (1.0F + std::exp(-x));
}

}  // namespace

LstmKnowledge::LstmKnowledge(const SafetensorsView& file, const std::string& prefix, int64_t layers,
                             int64_t channels)
    : layers_(layers),
      channels_(channels),
      hidden_(layers * channels / 2),
      attention_(file, prefix + ".att.weight", prefix + ".att.bias", 2 * hidden_, 1) {
  for (const size_t d : {0, 1}) {
    const std::string end = d == 0 ? "_l0" : "_l0_reverse";
    const auto name = [&](const char* tensor) { return prefix + ".lstm." + tensor + end; };
    directions_[d] = {PackedLinear(file, name("weight_ih"), name("bias_ih"), channels, 4 * hidden_),
                      PackedLinear(file, name("weight_hh"), name("bias_hh"), hidden_, 4 * hidden_)};
  }
}

// One step of torch.nn.LSTM with its gates input, forget, cell and output.
void LstmKnowledge::step(const Direction& direction, const float* x, int64_t rows) {
  direction.input.forward(x, rows, gates_.data());
  direction.hidden.forward(state_.data(), rows, more_.data());
  for (int64_t r = 0; r < rows; ++r)
    for (int64_t c = 0; c < hidden_; ++c) {
      const auto gate = [&](int64_t g) {
        const size_t at = size((r * 4 + g) * hidden_ + c);
        return gates_[at] + more_[at];
      };
      float& cell = cell_[size(r * hidden_ + c)];
      cell = sigmoid(gate(1)) * cell + sigmoid(gate(0)) * std::tanh(gate(2));
      state_[size(r * hidden_ + c)] = sigmoid(gate(3)) * std::tanh(cell);
    }
}

void LstmKnowledge::forward(const float* outputs, int64_t rows, float* joined) {
  gates_.resize(size(rows * 4 * hidden_));
  more_.resize(size(rows * 4 * hidden_));
  both_.resize(size(layers_ * rows * 2 * hidden_));
  scores_.resize(size(layers_ * rows));
  for (const int64_t d : {0, 1}) {
    state_.assign(size(rows * hidden_), 0.0F);
    cell_.assign(size(rows * hidden_), 0.0F);
    for (int64_t i = 0; i < layers_; ++i) {
      const int64_t layer = d == 0 ? i : layers_ - 1 - i;
      step(directions_[size(d)], outputs + layer * rows * channels_, rows);
      for (int64_t r = 0; r < rows; ++r)
        std::copy_n(&state_[size(r * hidden_)], hidden_,
                    &both_[size(((layer * rows + r) * 2 + d) * hidden_)]);
    }
  }
  attention_.forward(both_.data(), layers_ * rows, scores_.data());
  std::fill_n(joined, rows * channels_, 0.0F);
  for (int64_t r = 0; r < rows; ++r) {
    float highest = scores_[size(r)];
    for (int64_t l = 1; l < layers_; ++l) highest = std::max(highest, scores_[size(l * rows + r)]);
    float sum = 0;
    for (int64_t l = 0; l < layers_; ++l) sum += std::exp(scores_[size(l * rows + r)] - highest);
    for (int64_t l = 0; l < layers_; ++l) {
      const float share = std::exp(scores_[size(l * rows + r)] - highest) / sum;
      for (int64_t c = 0; c < channels_; ++c)
        joined[r * channels_ + c] += share * outputs[(l * rows + r) * channels_ + c];
    }
  }
}

}  // namespace plimsoll
