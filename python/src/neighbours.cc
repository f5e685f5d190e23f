#include <nanobind/ndarray.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/shared_ptr.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <span>
#include <string>

#include "batch_tensors.h"
#include "bindings.h"
#include "loader/neighbour_batches.h"
#include "mapping.h"

namespace plimsoll {
namespace {

using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

std::optional<std::span<const int64_t>> span_of(const std::optional<Indices>& numbers) {
  if (!numbers) return std::nullopt;
  return std::span(numbers->data(), numbers->size());
}

using PairArray = nb::ndarray<const int64_t, nb::shape<-1, 2>, nb::c_contig, nb::device::cpu>;
using PartArray = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

PartNodes part_nodes(const Mapping& mapping, const PartArray& parts) {
  return {std::span(parts.data(), parts.size()), mapping.graph()->nodes()};
}

/// State that all epochs of one loader share.
class Neighbours {
 public:
  Neighbours(const Mapping& mapping, const std::optional<Indices>& seeds, const NeighbourLoading& loading)
      : source_(std::make_shared<LoadedGraph>(mapping.graph(), span_of(seeds), loading)),
        memory_(BatchMemory::make()) {}
  Neighbours(const Mapping& mapping, const PartArray& parts, const NeighbourLoading& loading)
      : source_(std::make_shared<LoadedGraph>(mapping.graph(), part_nodes(mapping, parts), loading)),
        memory_(BatchMemory::make()) {}

  std::unique_ptr<BatchStream> stream(uint32_t epoch, int64_t rank, int64_t ranks, int64_t first,
                                      int64_t ahead) const {
    return std::make_unique<BatchStream>(
        std::make_unique<NeighbourBatches>(source_, epoch, Share{rank, ranks}, memory_), first, ahead,
        memory_);
  }
  int64_t steps(uint32_t /*epoch*/, int64_t rank, int64_t ranks) const {
    return count_batches(source_->items(), source_->loading().batching, {rank, ranks});
  }
  nb::dict next(BatchStream& stream, bool numpy) const {
    return next_tensors(stream, source_->fields(), numpy);
  }
  int64_t live_bytes() const { return memory_->live(); }

  nb::dict row_counters() const {
    RowCounters counters;
    {
      const nb::gil_scoped_release released;
      if (source_->rows() != nullptr) counters = source_->rows()->counters();
    }
    nb::dict named;
    named["hits"] = counters.hits;
    named["misses"] = counters.misses;
    named["bytes_useful"] = counters.bytes_useful;
    named["bytes_read"] = counters.bytes_read;
    named["waited_seconds"] = counters.waited_seconds;
    return named;
  }

 private:
  std::shared_ptr<LoadedGraph> source_;
  std::shared_ptr<BatchMemory> memory_;
};

}  // namespace

void bind_neighbours(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<NeighbourOptions>(module, "NeighbourOptions")
      .def_rw("fan_outs", &NeighbourOptions::fan_outs)
      .def_rw("replace", &NeighbourOptions::replace)
      .def_rw("weighted", &NeighbourOptions::weighted)
      .def_rw("disjoint", &NeighbourOptions::disjoint)
      .def("set_subgraph", [](NeighbourOptions& self, const std::string& name) {
        self.subgraph = parse_word<SubgraphType>(name, "subgraph_type");
      });
  nb::class_<SeedBatching>(module, "SeedBatching")
      .def_rw("batch_size", &SeedBatching::batch_size)
      .def_rw("drop_last", &SeedBatching::drop_last)
      .def_rw("shuffle", &SeedBatching::shuffle)
      .def_rw("seed", &SeedBatching::seed);
  nb::class_<NeighbourLoading>(module, "NeighbourLoading")
      .def(nb::init<>())
      .def_rw("sampling", &NeighbourLoading::sampling)
      .def_rw("batching", &NeighbourLoading::batching)
      .def("set_targets",
           [](NeighbourLoading& self, const PairArray& pairs) {
             self.targets.assign(pairs.data(), pairs.data() + pairs.size());
           })
      .def_rw("columns", &NeighbourLoading::columns)
      .def_rw("cache_bytes", &NeighbourLoading::cache_bytes)
      .def_rw("horizon", &NeighbourLoading::horizon);
  nb::class_<Neighbours>(module, "Neighbours")
      .def(nb::init<const Mapping&, const std::optional<Indices>&, const NeighbourLoading&>(), "mapping"_a,
           "seeds"_a.none(), "loading"_a)
      .def(nb::init<const Mapping&, const PartArray&, const NeighbourLoading&>(), "mapping"_a, "parts"_a,
           "loading"_a)
      .def("stream", &Neighbours::stream, nb::call_guard<nb::gil_scoped_release>())
      .def("steps", &Neighbours::steps)
      .def("next", &Neighbours::next, "stream"_a, "numpy"_a = false)
      .def("row_counters", &Neighbours::row_counters)
      .def_prop_ro("live_bytes", &Neighbours::live_bytes);
}

}  // namespace plimsoll
