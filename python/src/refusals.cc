#include "refusals.h"

#include <fmt/format.h>
#include <torch/csrc/Exceptions.h>

#include "base/units.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

PyObject* budget_exceeded = nullptr;  // The class. This module owns a reference until the process ends.

// torch translates types derived from PyTorchError into Python's exceptions, and all others into
// RuntimeError.
class TensorRefused : public torch::PyTorchError {
 public:
  explicit TensorRefused(const std::string& text) : PyTorchError(text) {}
  PyObject* python_type() override { return budget_exceeded; }
};

// Returns if the thread is unknown to Python, so that the caller throws BudgetExceeded, as the block engine
// expects.
void refuse(const BudgetExceeded& refusal) {
  if (PyGILState_GetThisThreadState() == nullptr) return;
  throw TensorRefused(refusal.what());
}

}  // namespace

void refuse_on_device(const DeviceRegionFull& full) {
  if (PyGILState_GetThisThreadState() == nullptr) return;
  // The message is that of BudgetExceeded, which Python parses.
  throw TensorRefused(fmt::format(
      "the device budget: {} ({} bytes) requested for 'device', {} bytes free of the {} that it leaves for "
      "tensors, possibly not contiguous; give a larger device budget or smaller batches, or train with "
      "plimsoll.fit(..., device=\"cuda\"), which needs memory for one block at a time",
      format_bytes(full.asked()), full.asked(), full.bytes() - full.in_use(), format_bytes(full.bytes())));
}

void surface_refusals(PyObject* error_class) {
  budget_exceeded = error_class;
  set_refusal(&refuse);
}

void translate_refusal(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (TensorRefused& refused) {
    PyErr_SetString(refused.python_type(), refused.what());
  }
}

}  // namespace plimsoll
