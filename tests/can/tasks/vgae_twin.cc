// vgae_twin MODEL.safetensors GRAPH_SET OUT.safetensors --graphs N [--training] [--teacher FILE LATENT]
//
// Evaluates an autoencoder on the first N graphs of a graph_set as one block and writes "parts" [N, 4] (of
// the loss of each node), "loss" [1] (their weighted mean), "grad.NAME" for every parameter, and what it
// predicts: "encodings" and "errors". With --training, batch normalisation uses the block's statistics and
// codes are drawn: the "noise" that they are drawn with and the running statistics that follow are written as
// well. With
// --teacher the loss is that of distillation from the tensor "teacher" of FILE, alpha 0.7, and "parts" [N,
// 6]; the projection is written. tests/python compares all with PyG's.

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

#include <cstring>
#include <iostream>
#include <memory>
#include <numeric>

#include "can/tasks/detector_file.h"
#include "engine/blocks/collate.h"
#include "engine/plan/warm_up.h"
#include "nn/encodings.h"
#include "nn/reconstruction_errors.h"
#include "nn/vgae_distillation.h"
#include "ops/allocator.h"
#include "ops/normal_noise/normal_noise.h"
#include "sample/block/graph_set_source.h"
#include "store/safetensors.h"

namespace plimsoll {
namespace {

struct Arguments {
  std::string model, graphs, out;
  int64_t count = 0;
  bool training = false;
  std::string teacher;
  int64_t teacher_latent = 0;
};

class Outputs {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    tensors_[name] = tensor.detach().contiguous();
  }
  void write(const std::string& path) const {
    std::map<std::string, TensorSpan> spans;
    for (const auto& [name, tensor] : tensors_)
      spans[name] = {"F32",
                     tensor.sizes().vec(),
                     {reinterpret_cast<const std::byte*>(tensor.const_data_ptr<float>()), tensor.nbytes()}};
    write_safetensors(path, spans, {});
  }

 private:
  std::map<std::string, at::Tensor> tensors_;
};

at::Tensor read_teacher(const std::string& path) {
  const SafetensorsView file(path);
  const TensorSpan& span = file.tensor("teacher");
  at::Tensor teacher = at::empty(span.shape, at::kFloat);
  std::memcpy(teacher.data_ptr<float>(), span.data.data(), span.data.size());
  return teacher;
}

void run(const Arguments& arguments) {
  warm_up_torch(/*threads=*/1);
  const Detector autoencoder = load_detector(arguments.model);
  const GraphSetSource source(arguments.graphs);
  std::vector<int64_t> graph_numbers(static_cast<size_t>(std::min(arguments.count, source.graphs())));
  std::iota(graph_numbers.begin(), graph_numbers.end(), int64_t{0});
  GraphBlock block;
  source.read(graph_numbers, block);

  std::unique_ptr<Objective> objective;
  if (arguments.teacher.empty())
    objective = std::make_unique<Reconstruction>(*autoencoder.vgae);
  else
    objective = std::make_unique<VgaeDistillation>(*autoencoder.vgae, arguments.teacher_latent, 0.7);
  Batch batch = collate(block, source.widths(), objective->collate_options());
  batch.statistics = std::make_shared<BlockStatistics>();
  if (!arguments.teacher.empty()) batch.teacher = read_teacher(arguments.teacher);

  const DropoutKey key{.training = arguments.training, .seed = 7, .epoch = 3};
  const at::Tensor parts = objective->forward(batch, key);
  const at::Tensor loss = objective->losses(parts, batch).mean();
  const std::vector<at::Tensor> parameters = objective->parameters().from(0);
  const std::vector<at::Tensor> gradients = torch::autograd::grad({loss}, parameters);

  Outputs outputs;
  outputs.add("parts", parts);
  outputs.add("loss", loss.reshape({1}));
  for (size_t p = 0; p < parameters.size(); ++p) {
    const ParameterList::Entry& entry = objective->parameters().entries()[p];
    outputs.add("grad." + entry.name, gradients[p]);
    if (entry.name.starts_with("projection.")) outputs.add(entry.name, entry.value);
  }
  if (arguments.training) {
    const at::Tensor like = at::empty({batch.nodes(), autoencoder.vgae->options().latent}, at::kFloat);
    outputs.add("noise", normal_noise(like, key.seed, key.epoch, batch.node_item(), batch.node_local()));
    for (const BlockStatistics::Entry& entry : batch.statistics->entries) {
      const auto& buffers = objective->parameters().buffers();
      outputs.add(buffers[entry.buffer].name, entry.mean);
      outputs.add(buffers[entry.buffer + 1].name, entry.variance);
    }
  }
  const c10::AutoGradMode no_gradients(false);
  outputs.add("encodings", Encodings(*autoencoder.vgae).forward(batch, {}));
  outputs.add("errors", ReconstructionErrors(*autoencoder.vgae).forward(batch, {}));
  outputs.write(arguments.out);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  const std::vector<std::string> words_given(argv + 1, argv + argc);
  plimsoll::Arguments arguments;
  bool understood = words_given.size() >= 5 && words_given[3] == "--graphs";
  for (size_t i = 5; understood && i < words_given.size(); ++i) {
    if (words_given[i] == "--training") {
      arguments.training = true;
    } else if (words_given[i] == "--teacher" && i + 2 < words_given.size()) {
      arguments.teacher = words_given[i + 1];
      arguments.teacher_latent = std::stoll(words_given[i + 2]);
      i += 2;
    } else {
      understood = false;
    }
  }
  if (!understood) {
    std::cerr << "usage: vgae_twin MODEL.safetensors GRAPH_SET OUT.safetensors --graphs N [--training] "
                 "[--teacher FILE LATENT]\n";
    return 2;
  }
  arguments.model = words_given[0];
  arguments.graphs = words_given[1];
  arguments.out = words_given[2];
  arguments.count = std::stoll(words_given[4]);
  plimsoll::install_ledger_allocator();
  try {
    plimsoll::run(arguments);
  } catch (const std::exception& error) {
    std::cerr << "vgae_twin: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
