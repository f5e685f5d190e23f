#include "loader/typed_batches.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

int64_t* copy_column(const TypedSample::Column& column, int64_t* to) {
  return std::copy(column.begin(), column.end(), to);
}

int64_t hops_of(const TypedOptions& sampling) {
  return sampling.fan_outs.empty() ? 0 : static_cast<int64_t>(sampling.fan_outs.front().size());
}

}  // namespace

LoadedTypes::LoadedTypes(TypedTopology topology, TypedLoading loading)
    : topology_(std::move(topology)),
      loading_(std::move(loading)),
      fields_(static_cast<int64_t>(topology_.nodes().size()), static_cast<int64_t>(topology_.edges().size()),
              hops_of(loading_.sampling), loading_.sampling.disjoint || !loading_.times.empty()) {
  const TypedSampler refuses_what_cannot_be_sampled(topology_, loading_.sampling, loading_.batching.seed);
  if (loading_.seed_type >= topology_.nodes().size())
    throw UsageError(
        fmt::format("input_nodes: node type {} of {}", loading_.seed_type, topology_.nodes().size()));
  if (!loading_.times.empty() && static_cast<int64_t>(loading_.times.size()) != items())
    throw UsageError(fmt::format("input_time: found {} times, expected one for each of {} input_nodes",
                                 loading_.times.size(), items()));
  if (!loading_.seeds) return;
  const int64_t nodes = topology_.nodes()[loading_.seed_type].nodes;
  for (const int64_t node : *loading_.seeds)
    if (node < 0 || node >= nodes)
      throw UsageError(fmt::format("input_nodes: node {} of {}; expected 0 to {}", node, nodes, nodes - 1));
}

int64_t LoadedTypes::items() const {
  return loading_.seeds ? static_cast<int64_t>(loading_.seeds->size())
                        : topology_.nodes()[loading_.seed_type].nodes;
}

CollatedBatch collate(const TypedSample& sample, const TypedFields& fields, std::span<const int64_t> numbers,
                      BatchMemory& memory) {
  CollatedBatch made;
  made.counts.graphs = static_cast<int64_t>(numbers.size());
  for (const TypedSample::Nodes& nodes : sample.nodes)
    made.counts.nodes += static_cast<int64_t>(nodes.node.size());
  for (const TypedSample::Edges& edges : sample.edges)
    made.counts.edges += static_cast<int64_t>(edges.edge.size());
  made.tensors = memory.take(fields.bytes(made.counts));
  const auto to = [&](TypedField field) { return made[field].as<int64_t>(); };
  int64_t* node = to(TypedField::n_id);
  int64_t* tree = to(TypedField::batch);
  int64_t* nodes_per_hop = to(TypedField::nodes_per_hop);
  for (const TypedSample::Nodes& nodes : sample.nodes) {
    node = copy_column(nodes.node, node);
    if (fields.has(TypedField::batch)) tree = copy_column(nodes.batch, tree);
    nodes_per_hop = copy_column(nodes.per_hop, nodes_per_hop);
  }
  int64_t* ends = to(TypedField::edge_index);
  int64_t* edge = to(TypedField::e_id);
  int64_t* edges_per_hop = to(TypedField::edges_per_hop);
  for (const TypedSample::Edges& edges : sample.edges) {
    ends = copy_column(edges.col, copy_column(edges.row, ends));
    edge = copy_column(edges.edge, edge);
    edges_per_hop = copy_column(edges.per_hop, edges_per_hop);
  }
  std::ranges::copy(numbers, to(TypedField::input_id));
  return made;
}

TypedBatches::TypedBatches(std::shared_ptr<const LoadedTypes> source, uint32_t epoch, const Share& share,
                           std::shared_ptr<BatchMemory> memory)
    : source_(std::move(source)),
      epoch_(epoch),
      list_(list_seeds(source_->items(), source_->loading().batching, epoch, share)),
      memory_(std::move(memory)),
      sampler_(source_->topology(), source_->loading().sampling, source_->loading().batching.seed) {}

CollatedBatch TypedBatches::make(int64_t batch) {
  sample(list_[batch]);
  return collate(sample_, source_->fields(), list_[batch], *memory_);
}

void TypedBatches::sample(std::span<const int64_t> numbers) {
  const TypedLoading& loading = source_->loading();
  seeds_.clear();
  times_.clear();
  for (const int64_t i : numbers) {
    seeds_.push_back(source_->seed(i));
    if (!loading.times.empty()) times_.push_back(loading.times[static_cast<size_t>(i)]);
  }
  const TypedSeeds seeds{loading.seed_type, seeds_, times_};
  sampler_.sample(std::span(&seeds, 1), epoch_, sample_);
}

}  // namespace plimsoll
