#pragma once

#include <nanobind/nanobind.h>

namespace plimsoll {

namespace nb = nanobind;

void bind_tapes(nb::module_& module);
void bind_memory(nb::module_& module);
void bind_devices(nb::module_& module);
void bind_runs(nb::module_& module);
void bind_journals(nb::module_& module);
void bind_command(nb::module_& module);

}  // namespace plimsoll
