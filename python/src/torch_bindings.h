#pragma once

#include <nanobind/nanobind.h>

#include "device/device_region.h"

namespace plimsoll {

namespace nb = nanobind;

/// Turns a tensor that the ledger refuses into plimsoll.BudgetExceeded in Python, wherever in torch it was
/// requested.
void surface_refusals();
/// Throws the equivalent for a tensor that a device has no free space for; returns in a thread unknown to
/// Python.
void refuse_on_device(const DeviceRegionFull& full);
void bind_tapes(nb::module_& module);
void bind_memory(nb::module_& module);
void bind_devices(nb::module_& module);
void bind_runs(nb::module_& module);
void bind_journals(nb::module_& module);
void bind_command(nb::module_& module);

}  // namespace plimsoll
