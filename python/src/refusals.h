#pragma once

#include <Python.h>

#include <exception>

#include "device/device_region.h"

// Do not include nanobind here: refusals.cc is compiled without the limited API, because torch's Python
// headers need more than that API.

namespace plimsoll {

/// Turns a tensor that the ledger refuses into `error_class` in Python, wherever in torch it was requested.
/// Takes over a reference to plimsoll.errors.BudgetExceeded. Call once, before the first refusal.
void surface_refusals(PyObject* error_class);
/// Throws the same error for a tensor that does not fit on a device. Returns if the thread is unknown to
/// Python.
void refuse_on_device(const DeviceRegionFull& full);
/// Translates a refusal that leaves a function of this module, for nanobind::register_exception_translator.
/// Rethrows other exceptions.
void translate_refusal(const std::exception_ptr& pointer, void* unused);

}  // namespace plimsoll
