#include <nanobind/ndarray.h>
#include <nanobind/stl/string.h>

#include <memory>
#include <span>
#include <string>

#include "bindings.h"
#include "mapping.h"
#include "memory/budget_scope.h"
#include "sample/partition/metis_partition.h"
#include "sample/partition/stream_partition.h"
#include "watched.h"

namespace plimsoll {
namespace {

Parts partition(const Topology& topology, int64_t parts, const std::string& method, double slack,
                const Progress& note) {
  const auto tick = [&] { note(0, 0); };
  if (method == "metis") return metis_partition(topology, {.parts = parts, .slack = slack, .tick = tick});
  return stream_partition(topology, {.parts = parts, .slack = slack, .tick = tick});
}

nb::ndarray<nb::numpy, int32_t> partition_of(const Mapping& mapping, int64_t parts, const std::string& method,
                                             double slack, const std::string& budget) {
  const auto graph = mapping.graph();
  const BudgetScope scope(budget);
  auto found = std::make_unique<Parts>();
  run_watched(nb::none(), [&](const Progress& note) {
    *found = partition(topology_of(*graph), parts, method, slack, note);
  });
  Parts& held = *found;
  const nb::capsule owner(found.release(), [](void* made) noexcept { delete static_cast<Parts*>(made); });
  return {held.data(), {held.size()}, owner};
}

using PartArray = nb::ndarray<const int32_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

int64_t count_cut_edges(const Mapping& mapping, const PartArray& parts) {
  const auto graph = mapping.graph();
  int64_t cut = 0;
  run_watched(nb::none(), [&](const Progress& note) {
    cut = cut_edges(topology_of(*graph), std::span(parts.data(), parts.size()), [&] { note(0, 0); });
  });
  return cut;
}

}  // namespace

void bind_partitions(nb::module_& module) {
  module.def("partition", &partition_of);
  module.def("cut_edges", &count_cut_edges);
}

}  // namespace plimsoll
