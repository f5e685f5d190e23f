// conv_twin IN.safetensors OUT.safetensors [IN OUT]...
//
// Loads the state_dict of PyG's GATConv or GATv2Conv, tensors "conv.NAME", into our layer, whose arguments
// are in the metadata, and writes "out" and the gradients of <weight, out>: "grad.conv.NAME", "grad.x", and
// those of x_target and edge_attr if the layer has them. tests/python compares them with PyG's.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <iostream>

#include "base/error.h"
#include "base/number_text.h"
#include "nn/gat_conv.h"
#include "ops/allocator.h"
#include "ops/attention/attention.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace {

at::Tensor tensor_of(const TensorSpan& span) {
  const at::ScalarType dtype = span.dtype == "I64" ? at::kLong : at::kFloat;
  const at::Tensor tensor = at::empty(span.shape, dtype);
  std::memcpy(tensor.mutable_data_ptr(), span.data.data(), span.data.size());
  return tensor;
}

TensorSpan span_of(const at::Tensor& tensor) {
  return {"F32",
          tensor.sizes().vec(),
          {reinterpret_cast<const std::byte*>(tensor.const_data_ptr<float>()), tensor.nbytes()}};
}

GATConvOptions options_of(const SafetensorsView& in) {
  const auto number = [&](const char* key) { return std::stoll(in.meta(key)); };
  return {.in_channels = number("in_channels"),
          .out_channels = number("out_channels"),
          .heads = number("heads"),
          .in_channels_target = number("in_channels_target"),
          .concat = number("concat") != 0,
          .negative_slope = parse_number<double>(in.meta("negative_slope")).value(),
          .add_self_loops = number("add_self_loops") != 0,
          .edge_dim = number("edge_dim"),
          .fill_value = parse_word<LoopFill>(in.meta("fill_value"), "fill_value"),
          .fill_number = parse_number<double>(in.meta("fill_number")).value(),
          .bias = number("bias") != 0,
          .residual = number("residual") != 0,
          .share_weights = number("share_weights") != 0};
}

// Every parameter gets the tensor with its name, and every tensor is used.
void load_state(const ParameterList& parameters, const SafetensorsView& in) {
  const at::AutoDispatchBelowADInplaceOrView guard;
  size_t taken = 0;
  for (const auto& entry : parameters.entries()) {
    const at::Tensor value = tensor_of(in.tensor(entry.name));
    if (value.sizes() != entry.value.sizes()) throw InputError(entry.name + " has another shape");
    entry.value.copy_(value);
    ++taken;
  }
  for (const auto& [name, span] : in.tensors()) taken -= name.starts_with("conv.") ? 1 : 0;
  if (taken != 0) throw InputError("the state_dict has parameters that the layer lacks");
}

template <typename Conv>
void run(const SafetensorsView& in, const std::string& out_path) {
  const GATConvOptions options = options_of(in);
  ParameterList parameters(0);
  const Conv conv(parameters, "conv", options);
  load_state(parameters, in);

  std::vector<std::string> names;
  std::vector<at::Tensor> leaves;
  for (const auto& entry : parameters.entries()) {
    names.push_back(entry.name);
    leaves.push_back(entry.value);
  }
  const auto leaf = [&](const char* name) {
    if (!in.tensors().contains(name)) return at::Tensor();
    names.emplace_back(name);
    leaves.push_back(tensor_of(in.tensor(name)).requires_grad_());
    return leaves.back();
  };
  const at::Tensor x = leaf("x");
  const at::Tensor x_target = leaf("x_target");
  const at::Tensor edge_attr = leaf("edge_attr");
  const bool same = !x_target.defined();
  const at::Tensor order = edge_order(tensor_of(in.tensor("edge_index")), x.size(0),
                                      same ? x.size(0) : x_target.size(0), same, options.add_self_loops);
  const EdgeInput edges{order, edge_attr, {}};
  const at::Tensor out = same ? conv.forward(x, edges, {}, 0) : conv.forward(x, x_target, edges, {}, 0);
  const at::Tensor loss = (tensor_of(in.tensor("weight")) * out).sum();
  std::vector<at::Tensor> results = torch::autograd::grad({loss}, leaves);
  for (std::string& name : names) name = "grad." + name;
  names.emplace_back("out");
  results.push_back(out.detach());

  std::map<std::string, TensorSpan> tensors;
  for (size_t i = 0; i < results.size(); ++i) {
    results[i] = results[i].contiguous();
    tensors[names[i]] = span_of(results[i]);
  }
  write_safetensors(out_path, tensors, {});
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc < 3 || argc % 2 == 0) {
    std::cerr << "usage: conv_twin IN.safetensors OUT.safetensors [IN OUT]...\n";
    return 2;
  }
  plimsoll::install_ledger_allocator();
  at::set_num_threads(1);
  try {
    for (int i = 1; i + 1 < argc; i += 2) {
      const plimsoll::SafetensorsView in(argv[i]);
      if (in.meta("kind") == "gat")
        plimsoll::run<plimsoll::GATConv>(in, argv[i + 1]);
      else
        plimsoll::run<plimsoll::GATv2Conv>(in, argv[i + 1]);
    }
  } catch (const std::exception& error) {
    std::cerr << "conv_twin: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
