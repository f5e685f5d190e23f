#include <nanobind/ndarray.h>

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

/// Makes walks through one graph. Threads that call it take turns.
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
    auto out = std::make_unique<Walks<int64_t>>();
    {
      const nb::gil_scoped_release released;
      const MutexLock lock(mutex_);
      walks_.walk(std::span(starts.data(), starts.size()), epoch, *out);
    }
    const auto places = static_cast<size_t>(options_.length) + 1;
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
