#include <fmt/format.h>
#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/unique_ptr.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "base/error.h"
#include "base/hash.h"
#include "base/units.h"
#include "batch_tensors.h"
#include "bindings.h"
#include "loader/batch_collation.h"
#include "loader/batch_list.h"
#include "loader/batch_memory.h"
#include "loader/batch_stream.h"
#include "mapping.h"

namespace plimsoll {
namespace {

using Indices = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

/// State that all epochs of one loader share.
class Batches {
 public:
  Batches(const Mapping& mapping, const Indices& graphs, const std::vector<std::string>& left_out,
          const Batching& batching)
      : set_(mapping.graph_set()),
        fields_(*set_, left_out),
        lister_(*set_, fields_, std::span(graphs.data(), graphs.size()), batching),
        memory_(BatchMemory::make()) {}

  std::unique_ptr<BatchStream> stream(uint32_t epoch, int64_t rank, int64_t ranks, int64_t first,
                                      int64_t ahead) const {
    auto batches =
        std::make_unique<CollatedBatches>(set_, fields_, lister_.list(epoch, {rank, ranks}), memory_);
    return std::make_unique<BatchStream>(std::move(batches), first, ahead, memory_);
  }
  int64_t steps(uint32_t epoch, int64_t rank, int64_t ranks) const {
    return lister_.list(epoch, {rank, ranks}).size();
  }
  CollatedBatch collated(std::span<const int64_t> graphs) const {
    for (const int64_t graph : graphs)
      if (graph < 0 || graph >= set_->graphs().graphs())
        throw UsageError(fmt::format("graph {} of {}", graph, set_->graphs().graphs()));
    const nb::gil_scoped_release released;
    CollatedBatch batch = collate(*set_, fields_, graphs, *memory_);
    for (BatchBuffer& buffer : batch.tensors) buffer.deliver();
    return batch;
  }
  const BatchFields& fields() const { return fields_; }
  nb::dict next(BatchStream& stream, bool numpy) const { return next_tensors(stream, fields_, numpy); }
  int64_t live_bytes() const { return memory_->live(); }

 private:
  std::shared_ptr<const GraphSetView> set_;
  BatchFields fields_;
  BatchLister lister_;
  std::shared_ptr<BatchMemory> memory_;
};

/// Returns any graphs of the set as tensors by name.
nb::dict batch_of(const Batches& batches, const Indices& graphs) {
  return tensors_of(batches.collated(std::span(graphs.data(), graphs.size())), batches.fields());
}

/// Identifies a data set and the graphs or nodes selected from it.
std::string identity(const Mapping& mapping, const Indices& chosen) {
  Hasher hasher;
  const std::string set = mapping.view().identity().dump();
  hasher.add(set.data(), set.size());
  hasher.add(std::span(chosen.data(), chosen.size()));
  return hasher.hex64();
}

}  // namespace

nb::object batch_tensor(BatchBuffer buffer, const std::vector<int64_t>& shape, bool is_float, bool numpy) {
  const std::vector<size_t> sizes(shape.begin(), shape.end());
  const auto dtype = is_float ? nb::dtype<float>() : nb::dtype<int64_t>();
  void* const data = buffer.data();
  const nb::capsule owner(new BatchBuffer(std::move(buffer)),
                          [](void* held) noexcept { delete static_cast<BatchBuffer*>(held); });
  if (numpy) return nb::cast(nb::ndarray<nb::numpy>(data, sizes.size(), sizes.data(), owner, nullptr, dtype));
  return nb::cast(nb::ndarray<nb::pytorch>(data, sizes.size(), sizes.data(), owner, nullptr, dtype));
}

void bind_loading(nb::module_& module) {
  nb::class_<Batching>(module, "Batching")
      .def(nb::init<>())
      .def_rw("graphs", &Batching::graphs)
      .def_rw("nodes", &Batching::nodes)
      .def_rw("edges", &Batching::edges)
      .def_rw("bytes", &Batching::bytes)
      .def_rw("skip_too_big", &Batching::skip_too_big)
      .def_rw("min_steps", &Batching::min_steps)
      .def_rw("drop_last", &Batching::drop_last)
      .def_rw("shuffle", &Batching::shuffle)
      .def_rw("seed", &Batching::seed);
  nb::class_<BatchStream>(module, "BatchStream").def_prop_ro("size", &BatchStream::size);
  nb::class_<Batches>(module, "Batches")
      .def(nb::init<const Mapping&, const Indices&, const std::vector<std::string>&, const Batching&>())
      .def("stream", &Batches::stream)
      .def("next", &Batches::next, nb::arg("stream"), nb::arg("numpy") = false)
      .def("batch_of", &batch_of)
      .def("steps", &Batches::steps)
      .def_prop_ro("live_bytes", &Batches::live_bytes);
  module.def("identity", &identity);
  module.def("batch_buffer_bytes", &batch_buffer_bytes);
  module.def("parse_size", [](const std::string& text) { return parse_size(text, 0); });
}

}  // namespace plimsoll
