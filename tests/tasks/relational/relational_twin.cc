// relational_twin DATA RECIPE FIRST COUNT OUT.safetensors
//
// Makes the model of a recipe for a graph with node types, and one block of the seeds FIRST .. FIRST+COUNT-1.
// Writes the block (numbers.TYPE, codes.TYPE, edges.EDGE_TYPE as [2, E], y or targets; `reached` of a
// recommendation), the parameters (param.NAME), the outputs "out", and the gradients of the sum of losses
// (grad.NAME). tests/python compares them with PyTorch Geometric's and NumPy's.

#include <ATen/Functions.h>
#include <ATen/Parallel.h>
#include <torch/csrc/autograd/autograd.h>

#include <iostream>
#include <numeric>

#include "config/recipe.h"
#include "engine/blocks/collate.h"
#include "ops/allocator.h"
#include "store/safetensors.h"
#include "tasks/relational/relational_data.h"
#include "tasks/relational/relational_model.h"

namespace plimsoll {
namespace {

class Results {
 public:
  void add(const std::string& name, const at::Tensor& tensor) {
    tensors_.emplace_back(name, tensor.detach().contiguous().clone());
  }
  void write(const std::string& path) const {
    std::map<std::string, TensorSpan> spans;
    for (const auto& [name, tensor] : tensors_)
      spans[name] = {tensor.scalar_type() == at::kFloat  ? "F32"
                     : tensor.scalar_type() == at::kLong ? "I64"
                                                         : "I32",
                     tensor.sizes().vec(),
                     {static_cast<const std::byte*>(tensor.const_data_ptr()), tensor.nbytes()}};
    write_safetensors(path, spans, {});
  }

 private:
  std::vector<std::pair<std::string, at::Tensor>> tensors_;
};

void add_block(const TypedSource& source, const GraphBlock& block, const Batch& batch, Results& results) {
  const SampleLayout& layout = source.layout();
  const auto& nodes = source.graph().node_types();
  const auto& edges = source.graph().edge_types();
  for (size_t t = 0; t < layout.nodes.size(); ++t) {
    results.add("numbers." + nodes[layout.nodes[t].type].name, batch.types.numbers[t]);
    results.add("codes." + nodes[layout.nodes[t].type].name, batch.types.codes[t]);
  }
  const int32_t* pair = block.edges.data();
  for (const SampleLayout::Edges& type : layout.edges) {
    const int64_t count = layout.within(type, layout.hops, std::span<const int64_t>(block.parts));
    const at::Tensor index = at::empty({count, 2}, at::kInt);
    std::copy_n(pair, 2 * count, index.mutable_data_ptr<int32_t>());
    pair += 2 * count;
    const EdgeTypeView& view = edges[type.type];
    results.add("edges." + view.source + "___" + view.name + "___" + view.target, index.t());
  }
  if (batch.types.reached.defined()) results.add("reached", batch.types.reached);
  results.add("y", batch.targets.defined() ? batch.targets : batch.y);
}

void run(const char* data_path, const char* recipe_path, int64_t first, int64_t count, const char* out) {
  const Recipe recipe = load_recipe(recipe_path, {});
  const RelationalData data(data_path, recipe);
  read_shapes(data.source(), 1);
  const auto model = make_relational_model(recipe, data.seeds(), 2);
  learn_target_units(data.seeds(), data.split().training, *model);
  const auto objective = make_relational_objective(recipe, *model, data.seeds().seeds());
  GraphList graphs(static_cast<size_t>(count));
  std::iota(graphs.begin(), graphs.end(), first);
  GraphBlock block;
  data.source().read(graphs, block);
  const Batch batch = collate(block, data.source().widths(), objective->collate_options());
  Results results;
  add_block(data.seeds(), block, batch, results);
  std::vector<at::Tensor> leaves;
  for (const auto& entry : model->parameters().all()) results.add("param." + entry.name, entry.value);
  for (const auto& entry : model->parameters().entries()) leaves.push_back(entry.value);
  const at::Tensor outputs = objective->forward(batch, {.training = true});
  results.add("out", outputs);
  const auto gradients = torch::autograd::grad({objective->losses(outputs, batch).sum()}, leaves);
  for (size_t i = 0; i < leaves.size(); ++i)
    results.add("grad." + model->parameters().entries()[i].name, gradients[i]);
  results.write(out);
}

}  // namespace
}  // namespace plimsoll

int main(int argc, char** argv) {
  if (argc != 6) {
    std::cerr << "usage: relational_twin DATA RECIPE FIRST COUNT OUT.safetensors\n";
    return 2;
  }
  plimsoll::install_ledger_allocator();
  at::set_num_threads(1);
  try {
    plimsoll::run(argv[1], argv[2], std::stoll(argv[3]), std::stoll(argv[4]), argv[5]);
  } catch (const std::exception& error) {
    std::cerr << "relational_twin: " << error.what() << "\n";
    return 1;
  }
  return 0;
}
