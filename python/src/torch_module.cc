#include "ops/allocator.h"
#include "torch_bindings.h"

// Its operators register themselves (src/ops); torch must be imported before.
NB_MODULE(_torch, module) {
  nanobind::set_leak_warnings(false);
  plimsoll::surface_refusals();
  plimsoll::install_ledger_allocator();
  plimsoll::bind_tapes(module);
  plimsoll::bind_memory(module);
  plimsoll::bind_runs(module);
  plimsoll::bind_journals(module);
  plimsoll::bind_command(module);
}
