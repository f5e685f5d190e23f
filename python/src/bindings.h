#pragma once

#include <nanobind/nanobind.h>

namespace plimsoll {

namespace nb = nanobind;

/// Translates errors of base/error.h into those of plimsoll.errors.
void translate_errors();
void bind_data_sets(nb::module_& module);
void bind_loading(nb::module_& module);
void bind_neighbours(nb::module_& module);
void bind_typed_neighbours(nb::module_& module);
void bind_partitions(nb::module_& module);
void bind_walks(nb::module_& module);
void bind_making(nb::module_& module);
void bind_can_making(nb::module_& module);
void bind_graph_making(nb::module_& module);
void bind_table_making(nb::module_& module);
void bind_batches(nb::module_& module);
void bind_detection(nb::module_& module);
void bind_model_files(nb::module_& module);

}  // namespace plimsoll
