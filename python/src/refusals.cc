#include <fmt/format.h>
#include <torch/csrc/Exceptions.h>

#include "base/units.h"
#include "ops/allocator.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

// torch makes Python's exceptions of those that derive from PyTorchError, and RuntimeError of all others.
class TensorRefused : public torch::PyTorchError {
 public:
  explicit TensorRefused(const std::string& text) : PyTorchError(text) {}
  PyObject* python_type() override {
    const nb::gil_scoped_acquire lock;
    return nb::module_::import_("plimsoll.errors").attr("BudgetExceeded").ptr();
  }
};

// Of a thread that Python does not know it is a BudgetExceeded, as the block engine expects it.
void refuse(const BudgetExceeded& refusal) {
  if (PyGILState_GetThisThreadState() == nullptr) return;
  throw TensorRefused(refusal.what());
}

// Out of functions of ours.
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
  // In the words of BudgetExceeded, which Python takes apart.
  throw TensorRefused(fmt::format(
      "the device budget: {} ({} bytes) asked for 'device', {} bytes free of the {} that it leaves tensors, "
      "in one piece or several; give a larger device budget or smaller batches, or train with "
      "plimsoll.fit(..., device=\"cuda\"), which takes memory for one block at a time",
      format_bytes(full.asked()), full.asked(), full.bytes() - full.in_use(), format_bytes(full.bytes())));
}

void surface_refusals() {
  nb::register_exception_translator(&translate);
  set_refusal(&refuse);
}

}  // namespace plimsoll
