#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "memory/budget_caps.h"
#include "memory/c_heap.h"
#include "memory/caching_allocator.h"
#include "memory/ledger.h"
#include "memory/meter.h"
#include "memory/process_budget.h"
#include "memory/slab.h"
#include "ops/allocator.h"
#include "ops/thread_random.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

/// Keeps the memory of tensors that this thread makes between begin() and end(), and reuses it for the next
/// ones.
class BlockMemory {
 public:
  void begin() {
    if (scope_ != nullptr) throw UsageError("this memory already holds a block");
    range_ = slab_.take_all();
    scope_ = std::make_unique<RangeScope>(range_);
  }
  void end() {
    scope_.reset();
    range_ = SlabRange();
  }

 private:
  Slab slab_;
  SlabRange range_;
  std::unique_ptr<RangeScope> scope_;
};

/// Makes torch's random numbers of this thread between begin() and end() depend only on the seed.
class BlockRandom {
 public:
  void begin(uint64_t seed) { scope_ = std::make_unique<ThreadRandom>(seed); }
  void end() { scope_.reset(); }

 private:
  std::unique_ptr<ThreadRandom> scope_;
};

}  // namespace

void bind_memory(nb::module_& module) {
  nb::class_<ProcessBudget>(module, "ProcessBudget")
      .def(nb::init<const std::string&>(), nb::call_guard<nb::gil_scoped_release>())
      .def("peak_anonymous", &ProcessBudget::peak_anonymous)
      .def("settle", &ProcessBudget::settle, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<BlockMemory>(module, "BlockMemory")
      .def(nb::init<>())
      .def("begin", &BlockMemory::begin, nb::call_guard<nb::gil_scoped_release>())
      .def("end", &BlockMemory::end);
  nb::class_<BlockRandom>(module, "BlockRandom")
      .def(nb::init<>())
      .def("begin", &BlockRandom::begin)
      .def("end", &BlockRandom::end);
  module.def("tensor_bytes", &tensor_heap_bytes);
  module.def("budget_bytes", &budget_bytes);
  module.def("format_bytes", [](int64_t bytes) { return format_bytes(bytes); });
  module.def("slack", &ProcessBudget::slack);
  // Excludes freed memory that is kept, because a budget starts without it.
  module.def("anonymous", [] { return process_memory().anonymous - Ledger::process().spare(); });
  module.def("outside", &ProcessBudget::outside_ledger, nb::call_guard<nb::gil_scoped_release>());
  module.def("give_back_freed_memory", [] {
    CachingAllocator::drop();
    give_back_freed_memory();
  });
  module.def("held", [] { return Ledger::process().held(); });
  module.def("begin_peak", [] {
    const int64_t outer = Ledger::process().recent_peak();
    Ledger::process().begin_recent();
    return outer;
  });
  module.def("end_peak", [](int64_t outer) { Ledger::process().end_recent(outer); });
  module.def("peak", [] { return Ledger::process().recent_peak(); });
}

}  // namespace plimsoll
