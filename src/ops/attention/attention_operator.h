#pragma once

// Code that the operators gat and gatv2 share: their options in the form in which the dispatcher passes them,
// and their registration. NAME and NAME_backward are separate operators, so that torch.compile can trace
// both. The autograd kernel of NAME connects them.

#include <torch/library.h>

#include <array>
#include <string>
#include <string_view>

#include "ops/attention/attention.h"
#include "ops/autocast.h"
#include "ops/operator.h"

// The dispatcher reads an operator's signature from a plain list of parameters.
#define PLIMSOLL_ATTENTION_PARAMETERS                                                         \
  [[maybe_unused]] int64_t heads, [[maybe_unused]] double slope, [[maybe_unused]] bool loops, \
      [[maybe_unused]] std::string_view fill, [[maybe_unused]] double fill_value,             \
      [[maybe_unused]] double dropout, [[maybe_unused]] bool keep_projection,                 \
      [[maybe_unused]] bool return_attention
#define PLIMSOLL_ATTENTION_ARGUMENTS \
  heads, slope, loops, fill, fill_value, dropout, keep_projection, return_attention
#define PLIMSOLL_ATTENTION_SCHEMA                                                                         \
  "int heads, float slope, bool loops, str fill, float fill_value, float dropout, bool keep_projection, " \
  "bool return_attention"
/// The arguments for these parameters, from AttentionOptions.
#define PLIMSOLL_ATTENTION_MEMBERS(options)                                                         \
  (options).heads, (options).slope, (options).loops, word_of((options).fill), (options).fill_value, \
      (options).dropout, (options).keep_projection, (options).return_attention

/// Registers the functions forward_any, forward_meta, forward_autograd and forward_autocast of a source file
/// as operator `name`, and backward_any, backward_meta and backward_autograd as `name`_backward.
#define PLIMSOLL_REGISTER_ATTENTION(name)                  \
  TORCH_LIBRARY_IMPL(plimsoll, CPU, m) {                   \
    m.impl(name, forward_any);                             \
    m.impl(name "_backward", backward_any);                \
  }                                                        \
  TORCH_LIBRARY_IMPL(plimsoll, CUDA, m) {                  \
    m.impl(name, forward_any);                             \
    m.impl(name "_backward", backward_any);                \
  }                                                        \
  TORCH_LIBRARY_IMPL(plimsoll, Meta, m) {                  \
    m.impl(name, forward_meta);                            \
    m.impl(name "_backward", backward_meta);               \
  }                                                        \
  TORCH_LIBRARY_IMPL(plimsoll, Autograd, m) {              \
    m.impl(name, forward_autograd);                        \
    m.impl(name "_backward", backward_autograd);           \
  }                                                        \
  TORCH_LIBRARY_IMPL(plimsoll, AutocastCPU, m) {           \
    m.impl(name, forward_autocast<c10::DeviceType::CPU>);  \
  }                                                        \
  TORCH_LIBRARY_IMPL(plimsoll, AutocastCUDA, m) {          \
    m.impl(name, forward_autocast<c10::DeviceType::CUDA>); \
  }

namespace plimsoll {

inline AttentionOptions options_of(PLIMSOLL_ATTENTION_PARAMETERS) {
  return {.heads = heads,
          .slope = slope,
          .loops = loops,
          .fill = parse_word<LoopFill>(fill, "attention: fill"),
          .fill_value = fill_value,
          .dropout = dropout,
          .keep_projection = keep_projection,
          .return_attention = return_attention};
}

inline void save_options(torch::autograd::AutogradContext* context, const AttentionOptions& options) {
  auto& data = context->saved_data;
  data["heads"] = options.heads;
  data["slope"] = options.slope;
  data["loops"] = options.loops;
  data["fill"] = static_cast<int64_t>(options.fill);
  data["fill_value"] = options.fill_value;
  data["dropout"] = options.dropout;
  data["keep_projection"] = options.keep_projection;
  data["return_attention"] = options.return_attention;
}
inline AttentionOptions saved_options(torch::autograd::AutogradContext* context) {
  auto& data = context->saved_data;
  return {.heads = data["heads"].toInt(),
          .slope = data["slope"].toDouble(),
          .loops = data["loops"].toBool(),
          .fill = static_cast<LoopFill>(data["fill"].toInt()),
          .fill_value = data["fill_value"].toDouble(),
          .dropout = data["dropout"].toDouble(),
          .keep_projection = data["keep_projection"].toBool(),
          .return_attention = data["return_attention"].toBool()};
}

/// Returns the gradient of out with which backward starts; zeros [targets, width] if only alpha was used.
inline at::Tensor gradient_of_out(const torch::autograd::variable_list& gradients, const at::Tensor& x,
                                  const at::Tensor& weight, const at::Tensor& per_target) {
  return gradients[0].defined() ? gradients[0]
                                : at::zeros_symint({per_target.sym_size(0), weight.sym_size(0)}, x.options());
}

/// Returns the result of a backward function: the gradient of each input tensor that needs one. Options get
/// no gradient.
template <size_t kTensors>
torch::autograd::variable_list gradients_of(torch::autograd::AutogradContext* context,
                                            const torch::autograd::variable_list& saved,
                                            const std::array<at::Tensor, kTensors>& made) {
  constexpr size_t kOptions = 8;  // The number of PLIMSOLL_ATTENTION_PARAMETERS.
  torch::autograd::variable_list result(kTensors + kOptions);
  for (size_t i = 0; i < kTensors; ++i)
    if (made[i].defined() && needs(context, saved, i)) result[i] = made[i];
  return result;
}

}  // namespace plimsoll
