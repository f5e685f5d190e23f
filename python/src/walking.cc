#include <nanobind/ndarray.h>

#include <algorithm>
#include <memory>
#include <span>

#include "base/mutex.h"
#include "bindings.h"
#include "mapping.h"
#include "sample/neighbour/random_walks.h"
#include "sample/topology/list_search.h"

namespace plimsoll {
namespace {

using Nodes = nb::ndarray<const int64_t, nb::ndim<1>, nb::c_contig, nb::device::cpu>;

// Maximum walks that are made between two checks for signals, and maximum numbers of these walks.
constexpr size_t kWalksTogether = size_t{1} << 13;
constexpr size_t kNumbersTogether = size_t{1} << 22;

/// Makes walks through one graph. Threads that call it take turns. A signal ends a call.
class Walker {
 public:
  Walker(const Mapping& mapping, int64_t length, int64_t walks_per_node, double p, double q, uint64_t seed)
      : graph_(mapping.graph()),
        topology_(topology_of(*graph_)),
        options_{length, walks_per_node, p, q},
        walks_(topology_, options_, seed) {
    if (p == 1 && q == 1) return;
    const nb::gil_scoped_release released;
    require_ascending_lists(topology_);
  }

  nb::ndarray<nb::numpy, int64_t> walk(const Nodes& starts, uint32_t epoch) {
    const auto places = static_cast<size_t>(options_.length) + 1;
    const size_t each = std::max<size_t>(static_cast<size_t>(options_.walks_per_node), 1);
    const size_t together = std::max<size_t>(std::min(kWalksTogether, kNumbersTogether / places) / each, 1);
    const std::span all(starts.data(), starts.size());
    auto out = std::make_unique<Walks<int64_t>>();
    Walks<int64_t> some;
    for (size_t first = 0; first < all.size(); first += together) {
      {
        const nb::gil_scoped_release released;
        const MutexLock lock(mutex_);
        walks_.walk(all.subspan(first, std::min(together, all.size() - first)), epoch, some);
        if (first == 0) out->reserve(all.size() * each * places);
        out->insert(out->end(), some.begin(), some.end());
      }
      if (PyErr_CheckSignals() != 0) throw nb::python_error();
    }
    Walks<int64_t>& held = *out;
    const nb::capsule owner(out.release(),
                            [](void* made) noexcept { delete static_cast<Walks<int64_t>*>(made); });
    return {held.data(), {held.size() / places, places}, owner};
  }

 private:
  std::shared_ptr<const GraphView> graph_;
  CsrTopology topology_;
  WalkOptions options_;
  Mutex mutex_;
  RandomWalks<int64_t> walks_ PLIMSOLL_GUARDED_BY(mutex_);
};

}  // namespace

void bind_walks(nb::module_& module) {
  using namespace nb::literals;
  nb::class_<Walker>(module, "Walker")
      .def(nb::init<const Mapping&, int64_t, int64_t, double, double, uint64_t>(), "mapping"_a, "length"_a,
           "walks_per_node"_a, "p"_a, "q"_a, "seed"_a)
      .def("walk", &Walker::walk, "starts"_a, "epoch"_a);
}

}  // namespace plimsoll
