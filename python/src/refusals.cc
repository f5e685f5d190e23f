#include <torch/csrc/Exceptions.h>

#include "ops/allocator.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

// torch makes Python's exceptions of those that derive from PyTorchError, and RuntimeError of all others.
class TensorRefused : public torch::PyTorchError {
 public:
  explicit TensorRefused(const BudgetExceeded& refusal) : PyTorchError(refusal.what()) {}
  PyObject* python_type() override {
    const nb::gil_scoped_acquire lock;
    return nb::module_::import_("plimsoll.errors").attr("BudgetExceeded").ptr();
  }
};

// Of a thread that Python does not know it is a BudgetExceeded, as the block engine expects it.
void refuse(const BudgetExceeded& refusal) {
  if (PyGILState_GetThisThreadState() == nullptr) return;
  throw TensorRefused(refusal);
}

}  // namespace

void surface_refusals() {
  set_refusal(&refuse);
}

}  // namespace plimsoll
