#include <fmt/format.h>
#include <torch/csrc/Exceptions.h>

#include "base/units.h"
#include "ops/allocator.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

// torch translates types derived from PyTorchError into Python's exceptions, and all others into
// RuntimeError.
class TensorRefused : public torch::PyTorchError {
 public:
  explicit TensorRefused(const std::string& text) : PyTorchError(text) {}
  PyObject* python_type() override {
    const nb::gil_scoped_acquire lock;
    return nb::module_::import_("plimsoll.errors").attr("BudgetExceeded").ptr();
  }
};

// Returns in a thread unknown to Python, so that the caller throws BudgetExceeded, as the block engine
// expects.
void refuse(const BudgetExceeded& refusal) {
  if (PyGILState_GetThisThreadState() == nullptr) return;
  throw TensorRefused(refusal.what());
}

// Translates exceptions that leave functions of this module.
void translate(const std::exception_ptr& pointer, void*) {
  try {
    std::rethrow_exception(pointer);
  } catch (TensorRefused& refused) {
    PyErr_SetString(refused.python_type(), refused.what());
  }
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

void surface_refusals() {
  nb::register_exception_translator(&translate);
  set_refusal(&refuse);
}

}  // namespace plimsoll
