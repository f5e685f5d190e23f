#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <tuple>
#include <utility>
#include <vector>

#include "batch_tensors.h"
#include "bindings.h"
#include "loader/typed_batches.h"
#include "sample/typed/hgt_sampler.h"

namespace plimsoll {
namespace {

template <typename T>
using Column = nb::ndarray<const T, nb::ndim<1>, nb::c_contig, nb::device::cpu>;
using Times = std::optional<Column<int64_t>>;

/// The columns of a graph with types, which it keeps alive.
class TypedColumns {
 public:
  void add_nodes(int64_t nodes, const Times& time) { nodes_.push_back({nodes, held(time)}); }
  void add_edges(size_t source, size_t target, const Column<int64_t>& indptr, const Column<uint32_t>& indices,
                 const std::optional<Column<float>>& weights, const std::string& time_of, const Times& time) {
    edges_.push_back({.source = source,
                      .target = target,
                      .indptr = held<int64_t>(indptr),
                      .indices = held<uint32_t>(indices),
                      .weights = held(weights),
                      .has_time = parse_word<EdgeTime>(time_of, "time"),
                      .time = held(time)});
  }
  TypedTopology topology() const { return {nodes_, edges_}; }

 private:
  template <typename T>
  std::span<const T> held(const std::optional<Column<T>>& column) {
    if (!column) return {};
    arrays_.emplace_back(*column);
    return std::span(column->data(), column->size());
  }

  std::vector<nb::ndarray<>> arrays_;
  std::vector<TypedNodes> nodes_;
  std::vector<TypedEdges> edges_;
};

GraphList list_of(const Column<int64_t>& numbers) {
  return GraphList(numbers.data(), numbers.data() + numbers.size());
}

/// State that all epochs of one loader share.
class TypedNeighbours {
 public:
  TypedNeighbours(std::shared_ptr<TypedColumns> columns, const TypedLoading& loading)
      : held_(std::make_shared<Held>(Held{columns, {columns->topology(), loading}})),
        source_(held_, &held_->types),
        memory_(BatchMemory::make()) {}

  std::unique_ptr<BatchStream> stream(uint32_t epoch, int64_t rank, int64_t ranks, int64_t first,
                                      int64_t ahead) const {
    return std::make_unique<BatchStream>(
        std::make_unique<TypedBatches>(source_, epoch, Share{rank, ranks}, memory_), first, ahead, memory_);
  }
  int64_t steps(uint32_t /*epoch*/, int64_t rank, int64_t ranks) const {
    return count_batches(source_->items(), source_->loading().batching, {rank, ranks});
  }
  nb::dict next(BatchStream& stream, bool numpy) const {
    return next_tensors(stream, source_->fields(), numpy);
  }
  int64_t live_bytes() const { return memory_->live(); }

  /// Samples around any seeds: each entry has the number of a node type, its nodes, and their times or none.
  nb::dict sample(const std::vector<std::tuple<size_t, Column<int64_t>, Times>>& given,
                  uint32_t epoch) const {
    std::vector<TypedSeeds> seeds;
    for (const auto& [type, nodes, times] : given)
      seeds.push_back({type, std::span(nodes.data(), nodes.size()),
                       times ? std::span(times->data(), times->size()) : std::span<const int64_t>()});
    CollatedBatch batch;
    {
      const nb::gil_scoped_release released;
      TypedSample out;
      TypedSampler(source_->topology(), source_->loading().sampling, source_->loading().batching.seed)
          .sample(seeds, epoch, out);
      batch = collate(out, source_->fields(), {}, *memory_);
      for (BatchBuffer& buffer : batch.tensors) buffer.deliver();
    }
    return tensors_of(std::move(batch), source_->fields());
  }

 private:
  struct Held {
    std::shared_ptr<TypedColumns> columns;  // The columns that `types` borrows.
    LoadedTypes types;
  };
  std::shared_ptr<Held> held_;
  std::shared_ptr<const LoadedTypes> source_;
  std::shared_ptr<BatchMemory> memory_;
};

/// Samples as HGTLoader does: `counts` nodes of each type in each hop around seeds of one type.
nb::dict hgt_sample(const TypedColumns& columns, const std::vector<std::vector<int64_t>>& counts, size_t type,
                    const Column<int64_t>& seeds, uint64_t seed) {
  const TypedTopology topology = columns.topology();
  const TypedFields fields(static_cast<int64_t>(topology.nodes().size()),
                           static_cast<int64_t>(topology.edges().size()),
                           counts.empty() ? 0 : static_cast<int64_t>(counts.front().size()), false);
  CollatedBatch batch;
  {
    const nb::gil_scoped_release released;
    TypedSample out;
    HgtSampler(topology, counts, seed).sample(type, std::span(seeds.data(), seeds.size()), 0, out);
    batch = collate(out, fields, {}, *BatchMemory::make());
    for (BatchBuffer& buffer : batch.tensors) buffer.deliver();
  }
  return tensors_of(std::move(batch), fields);
}

}  // namespace

void bind_typed_neighbours(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<TypedColumns>(module, "TypedColumns")
      .def(nb::init<>())
      .def("add_nodes", &TypedColumns::add_nodes, "nodes"_a, "time"_a.none())
      .def("add_edges", &TypedColumns::add_edges, "source"_a, "target"_a, "indptr"_a, "indices"_a,
           "weights"_a.none(), "time_of"_a, "time"_a.none());
  nb::class_<TypedOptions>(module, "TypedOptions")
      .def_rw("fan_outs", &TypedOptions::fan_outs)
      .def_rw("replace", &TypedOptions::replace)
      .def_rw("weighted", &TypedOptions::weighted)
      .def_rw("disjoint", &TypedOptions::disjoint)
      .def_rw("before", &TypedOptions::before)
      .def_rw("window", &TypedOptions::window, nb::arg().none())
      .def("set_strategy", [](TypedOptions& self, const std::string& name) {
        self.strategy = parse_word<TemporalStrategy>(name, "temporal_strategy");
      });
  nb::class_<TypedLoading>(module, "TypedLoading")
      .def(nb::init<>())
      .def_rw("sampling", &TypedLoading::sampling)
      .def_rw("batching", &TypedLoading::batching)
      .def_rw("seed_type", &TypedLoading::seed_type)
      .def("set_seeds", [](TypedLoading& self, const Column<int64_t>& nodes) { self.seeds = list_of(nodes); })
      .def("set_times",
           [](TypedLoading& self, const Column<int64_t>& times) { self.times = list_of(times); });
  nb::class_<TypedNeighbours>(module, "TypedNeighbours")
      .def(nb::init<std::shared_ptr<TypedColumns>, const TypedLoading&>(), "columns"_a, "loading"_a)
      .def("stream", &TypedNeighbours::stream, nb::call_guard<nb::gil_scoped_release>())
      .def("steps", &TypedNeighbours::steps)
      .def("next", &TypedNeighbours::next, "stream"_a, "numpy"_a = false)
      .def("sample", &TypedNeighbours::sample, "seeds"_a, "epoch"_a)
      .def_prop_ro("live_bytes", &TypedNeighbours::live_bytes);
  module.def("hgt_sample", &hgt_sample, "columns"_a, "counts"_a, "type"_a, "seeds"_a, "seed"_a);
}

}  // namespace plimsoll
