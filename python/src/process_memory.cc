#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "base/units.h"
#include "memory/budget_caps.h"
#include "memory/c_heap.h"
#include "memory/ledger.h"
#include "memory/meter.h"
#include "memory/process_budget.h"
#include "memory/slab.h"
#include "ops/allocator.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

/// Tensors that this thread makes between begin() and end() lie in memory that is kept for the next ones.
class BlockMemory {
 public:
  void begin() {
    range_ = slab_.take_all();
    scope_ = std::make_unique<RangeScope>(range_);
  }
  void end() {
    scope_.reset();
    range_ = SlabRange();
  }
  int64_t bytes() const { return slab_.bytes(); }
  void shrink() { slab_.resize(0); }

 private:
  Slab slab_;
  SlabRange range_;
  std::unique_ptr<RangeScope> scope_;
};

}  // namespace

void bind_memory(nb::module_& module) {
  nb::class_<ProcessBudget>(module, "ProcessBudget")
      .def(nb::init<const std::string&>(), nb::call_guard<nb::gil_scoped_release>())
      .def_prop_ro("bytes", &ProcessBudget::bytes)
      .def("peak_anonymous", &ProcessBudget::peak_anonymous);
  nb::class_<BlockMemory>(module, "BlockMemory")
      .def(nb::init<>())
      .def("begin", &BlockMemory::begin, nb::call_guard<nb::gil_scoped_release>())
      .def("end", &BlockMemory::end)
      .def("shrink", &BlockMemory::shrink)
      .def_prop_ro("bytes", &BlockMemory::bytes);
  module.def("tensor_bytes", &heap_bytes);
  module.def("budget_bytes", &budget_bytes);
  module.def("format_bytes", [](int64_t bytes) { return format_bytes(bytes); });
  module.def("slack", &ProcessBudget::slack);
  module.def("anonymous", [] { return process_memory().anonymous; });
  module.def("give_back_freed_memory", &give_back_freed_memory);
  module.def("held", [] { return Ledger::process().held(); });
  module.def("begin_peak", [] { Ledger::process().begin_recent(); });
  module.def("peak", [] { return Ledger::process().recent_peak(); });
}

}  // namespace plimsoll
