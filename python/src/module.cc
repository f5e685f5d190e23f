#include "base/version.h"
#include "bindings.h"

NB_MODULE(_core, module) {
  // Arrays that are out when the interpreter ends keep their mapping; the system takes it back.
  nanobind::set_leak_warnings(false);
  module.attr("version") = plimsoll::kVersion;
  plimsoll::translate_errors();
  plimsoll::bind_data_sets(module);
  plimsoll::bind_making(module);
}
