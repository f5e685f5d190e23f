#include "nn/jumping_knowledge.h"

#include <ATen/Functions.h>
#include <ATen/TensorOperators.h>

#include "base/error.h"

namespace plimsoll {

JumpingKnowledge::JumpingKnowledge(ParameterList& parameters, const std::string& prefix, JkMode mode,
                                   int64_t channels, int64_t layers)
    : mode_(mode), width_(mode == JkMode::cat ? channels * layers : channels) {
  if (mode != JkMode::lstm) return;
  const int64_t hidden = layers * channels / 2;
  if (hidden == 0) throw UsageError("jk: lstm needs at least two layers or two channels; use cat");
  const Init init = Init::linear(hidden);
  const auto add = [&](const char* name, const char* direction, const std::vector<int64_t>& shape) {
    return parameters.add(prefix + ".lstm." + name + "_l0" + direction, shape, init);
  };
  for (const size_t d : {0, 1}) {
    const char* const direction = d == 0 ? "" : "_reverse";
    lstm_[d] = {add("weight_ih", direction, {4 * hidden, channels}),
                add("weight_hh", direction, {4 * hidden, hidden}), add("bias_ih", direction, {4 * hidden}),
                add("bias_hh", direction, {4 * hidden})};
  }
  attention_ = Linear(parameters, prefix + ".att", 2 * hidden, 1);
}

// One step of torch.nn.LSTM; returns the new hidden state.
at::Tensor JumpingKnowledge::step(const Lstm& lstm, const at::Tensor& x, at::Tensor& hidden,
                                  at::Tensor& cell) const {
  const at::Tensor gates = at::linear(x, lstm.input_weight, lstm.input_bias) +
                           at::linear(hidden, lstm.hidden_weight, lstm.hidden_bias);
  const std::vector<at::Tensor> gate = at::chunk(gates, 4, 1);
  cell = at::sigmoid(gate[1]) * cell + at::sigmoid(gate[0]) * at::tanh(gate[2]);
  hidden = at::sigmoid(gate[3]) * at::tanh(cell);
  return hidden;
}

at::Tensor JumpingKnowledge::attend(const std::vector<at::Tensor>& outputs) const {
  const size_t layers = outputs.size();
  std::vector<at::Tensor> forth(layers);
  std::vector<at::Tensor> back(layers);
  const at::Tensor zeros =
      at::zeros({outputs[0].size(0), lstm_[0].hidden_weight.size(1)}, outputs[0].options());
  at::Tensor hidden = zeros;
  at::Tensor cell = zeros;
  for (size_t i = 0; i < layers; ++i) forth[i] = step(lstm_[0], outputs[i], hidden, cell);
  hidden = cell = zeros;
  for (size_t i = layers; i-- > 0;) back[i] = step(lstm_[1], outputs[i], hidden, cell);
  std::vector<at::Tensor> scores;
  for (size_t i = 0; i < layers; ++i) scores.push_back(attention_.forward(at::cat({forth[i], back[i]}, 1)));
  const at::Tensor shares = at::softmax(at::cat(scores, 1), 1);
  at::Tensor sum = outputs[0] * shares.narrow(1, 0, 1);
  for (size_t i = 1; i < layers; ++i) sum = sum + outputs[i] * shares.narrow(1, static_cast<int64_t>(i), 1);
  return sum;
}

at::Tensor JumpingKnowledge::forward(const std::vector<at::Tensor>& outputs) const {
  if (mode_ == JkMode::cat) return at::cat(outputs, 1);
  if (mode_ == JkMode::max) return at::amax(at::stack(outputs), 0);
  return attend(outputs);
}

}  // namespace plimsoll
