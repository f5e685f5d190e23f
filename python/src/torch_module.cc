#include <algorithm>

#include "base/units.h"
#include "cli/known_tasks.h"
#include "memory/caching_allocator.h"
#include "memory/limits.h"
#include "ops/allocator.h"
#include "refusals.h"
#include "torch_bindings.h"

namespace {

// Freed memory is kept even without a budget; otherwise glibc's malloc would request the pages of every large
// tensor again.
int64_t max_kept() {
  return std::min(plimsoll::kGiB, plimsoll::usable_memory(plimsoll::find_limits()) / 16);
}

}  // namespace

// The operators register themselves (src/ops); torch must be imported before.
NB_MODULE(_torch, module) {
  nanobind::set_leak_warnings(false);
  nanobind::register_exception_translator(&plimsoll::translate_refusal);
  plimsoll::surface_refusals(
      nanobind::module_::import_("plimsoll.errors").attr("BudgetExceeded").inc_ref().ptr());
  plimsoll::install_ledger_allocator();
  plimsoll::CachingAllocator::keep_at_most(max_kept());
  plimsoll::bind_memory(module);
  plimsoll::bind_devices(module);
  plimsoll::bind_tapes(module);
  plimsoll::register_known_tasks();
  plimsoll::bind_runs(module);
  plimsoll::bind_journals(module);
  plimsoll::bind_command(module);
}
