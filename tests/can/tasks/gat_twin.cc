// gat_twin MODEL.safetensors GRAPH_SET OUT.safetensors --graphs N
//
// Evaluates the first N graphs of a graph_set as one block without dropout and writes "logits" [G, 2], "loss"
// [1] (mean cross-entropy) and "grad.NAME" for every parameter. tests/python compares them with PyG's.

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

#include <iostream>
#include <numeric>

#include "can/tasks/detector_file.h"
#include "engine/blocks/collate.h"
#include "ops/allocator.h"
#include "sample/block/graph_set_source.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace {

TensorSpan span_of(const at::Tensor& tensor) {
  return {"F32",
          tensor.sizes().vec(),
          {reinterpret_cast<const std::byte*>(tensor.const_data_ptr<float>()), tensor.nbytes()}};
}

void run(const std::string& model_path, const std::string& graphs, const std::string& out, int64_t count) {
  const Detector detector = load_detector(model_path);
  const GraphSetSource source(graphs);
  std::vector<int64_t> graph_numbers(static_cast<size_t>(std::min(count, source.graphs())));
  std::iota(graph_numbers.begin(), graph_numbers.end(), int64_t{0});
  GraphBlock block;
  source.read(graph_numbers, block);
  const Batch batch = collate(block, source.widths());

  const at::Tensor logits = detector.gat->forward(batch, {});
  const at::Tensor loss = -at::log_softmax(logits, 1).gather(1, batch.y.unsqueeze(1)).mean();
  std::vector<at::Tensor> parameters;
  for (const auto& entry : detector.gat->parameters().entries()) parameters.push_back(entry.value);
  std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, parameters);

  std::map<std::string, TensorSpan> tensors;
  for (size_t p = 0; p < parameters.size(); ++p) {
    gradients[p] = gradients[p].contiguous();
    tensors["grad." + detector.gat->parameters().entries()[p].name] = span_of(gradients[p]);
  }
  const at::Tensor plain_logits = logits.detach().contiguous();
  const at::Tensor plain_loss = loss.detach().reshape({1});
  tensors["logits"] = span_of(plain_logits);
  tensors["loss"] = span_of(plain_loss);
  write_safetensors(out, tensors, {});
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc != 6 || std::string(argv[4]) != "--graphs") {
    std::cerr << "usage: gat_twin MODEL.safetensors GRAPH_SET OUT.safetensors --graphs N\n";
    return 2;
  }
  plimsoll::install_ledger_allocator();
  try {
    plimsoll::run(argv[1], argv[2], argv[3], std::stoll(argv[5]));
  } catch (const std::exception& error) {
    std::cerr << "gat_twin: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
