#include "base/version.h"
#include "bindings.h"

NB_MODULE(_core, module) {
  // Arrays that still exist when the interpreter ends keep their mapping; the system frees it.
  nanobind::set_leak_warnings(false);
  module.attr("version") = plimsoll::kVersion;
  plimsoll::translate_errors();
  plimsoll::bind_data_sets(module);
  plimsoll::bind_loading(module);
  plimsoll::bind_neighbours(module);
  plimsoll::bind_typed_neighbours(module);
  plimsoll::bind_partitions(module);
  plimsoll::bind_walks(module);
  plimsoll::bind_making(module);
  plimsoll::bind_can_making(module);
  plimsoll::bind_graph_making(module);
  plimsoll::bind_table_making(module);
  plimsoll::bind_batches(module);
  plimsoll::bind_detection(module);
  plimsoll::bind_model_files(module);
}
