#include <nanobind/ndarray.h>

#include <numeric>
#include <span>

#include "bindings.h"
#include "sample/block/batches.h"

namespace plimsoll {
namespace {

nb::ndarray<nb::numpy, int64_t> shuffled(size_t count, uint64_t seed, uint32_t epoch) {
  auto* const order = new int64_t[count];
  const nb::capsule owner(order, [](void* held) noexcept { delete[] static_cast<int64_t*>(held); });
  std::iota(order, order + count, 0);
  shuffle(std::span(order, count), seed, epoch);
  return {order, {count}, owner};
}

}  // namespace

void bind_batches(nb::module_& module) {
  module.def("shuffled", &shuffled);
}

}  // namespace plimsoll
