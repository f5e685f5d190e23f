#include <ATen/Context.h>
#include <fmt/format.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>

#include <algorithm>
#include <optional>
#include <vector>

#include "base/error.h"
#include "base/units.h"
#include "device/cuda_device.h"
#include "device/device_choice.h"
#include "device/device_models.h"
#include "device/host_device.h"
#include "device_scope.h"
#include "engine/blocks/torch_on_stream.h"
#include "engine/plan/planned_device.h"
#include "ops/torch_cuda.h"
#include "refusals.h"
#include "torch_bindings.h"

namespace plimsoll {

PythonDevice::PythonDevice(std::unique_ptr<TrainingDevice> device, int64_t total)
    : device_(device.release()), total_(total) {
  device_->tensors().set_refusal(&refuse_on_device);
}

std::unique_ptr<DeviceRangeScope> PythonDevice::scope(TapeRecorder* recorder) const {
  return std::make_unique<DeviceRangeScope>(nullptr, recorder,
                                            device_->torch().is_cpu() ? &device_->tensors() : nullptr);
}

namespace {

// Number of threads: the caller's, and the thread of torch that runs backward passes.
constexpr int kThreads = 2;
// Enough to open any GPU. The budget is applied afterwards, so that the GPU can be opened again if the budget
// was too small.
constexpr int64_t kToOpen = kGiB;

/// Restores the user's settings of torch, which opening a GPU changes.
class KeepSettings {
 public:
  KeepSettings() = default;
  ~KeepSettings() {
    torch_.setDeterministicAlgorithms(deterministic_, warn_only_);
    torch_.setDeterministicFillUninitializedMemory(fill_);
  }
  KeepSettings(const KeepSettings&) = delete;
  KeepSettings& operator=(const KeepSettings&) = delete;

 private:
  at::Context& torch_ = at::globalContext();
  const bool deterministic_ = torch_.deterministicAlgorithms();
  const bool warn_only_ = torch_.deterministicAlgorithmsWarnOnly();
  const bool fill_ = torch_.deterministicFillUninitializedMemory();
};

int64_t free_of_gpu(int index) {
  const auto monitor = monitor_cuda_device(index);
  const auto reading = monitor != nullptr ? monitor->read() : std::nullopt;
  return cuda_device_bytes(index) - (reading ? reading->used : 0);
}

int index_of(const std::string& device) {
  const std::optional<int> index = cuda_index(parse_device(device));
  if (!index) throw UsageError(fmt::format("device='{}': expected 'cuda' or 'cuda:N'", device));
  return *index;
}

PythonDevice open_cuda(const std::string& device, const std::string& budget) {
  const int index = index_of(device);
  const int64_t free = free_of_gpu(index);
  const int64_t bytes = device_budget(budget, free);
  const KeepSettings keep;
  PythonDevice opened(TrainingDevice::open_cuda(index, std::max(bytes, std::min(kToOpen, free)), kThreads),
                      free);
  return opened;
}

PythonDevice make_stand_in(int64_t total, int64_t context) {
  HostDeviceOptions options{.bytes = total, .context_bytes = context, .host_computes = true};
  return PythonDevice(std::make_unique<TrainingDevice>(make_host_device(std::move(options)), total, 1),
                      total);
}

// Returns a model of GPU that need not be here: the bytes of a budget on it, and those that driver, libraries
// and the workspace of a thread take, with a margin if nobody measured them.
nb::tuple model_of_gpu(const std::string& name, const std::string& budget) {
  const DeviceModel& model = find_device_model(name);
  const int64_t margin = model.is_measured ? 0 : PlannedDevice::kMarginOfUnmeasured;
  return nb::make_tuple(device_budget(budget, model.bytes),
                        PlannedDevice::kAssumedContext + PlannedDevice::kAssumedWorkspace + margin);
}

// Errors: UsageError if tensors are on the device. torch's workspaces do not count.
void require_empty(const PythonDevice& device, const char* refusal) {
  if (!device.device().torch().is_cpu()) clear_cublas_workspaces();
  const int64_t held = device.device().tensors().in_use();
  if (held > 0)
    throw UsageError(
        fmt::format("{} while tensors hold {} on the device; delete them and everything that references "
                    "them, or move them to the CPU",
                    refusal, format_bytes(held)));
}

void resize(PythonDevice& device, const std::string& text) {
  const int64_t bytes = device_budget(text, device.total());
  if (bytes == device.device().budget()) return;
  require_empty(device, "the device budget cannot be changed");
  device.device().resize(bytes);
}

std::optional<int64_t> held(const PythonDevice& device) {
  const auto reading = device.device().reading();
  return reading ? std::optional(reading->held) : std::nullopt;
}

// Nested scopes that assign a thread's tensors to the emulated device.
thread_local std::vector<std::unique_ptr<DeviceRangeScope>> scopes;

}  // namespace

void bind_devices(nb::module_& module) {
  const auto without_lock = nb::call_guard<nb::gil_scoped_release>();
  nb::class_<PythonDevice>(module, "Device")
      .def_prop_ro("torch", [](const PythonDevice& device) { return device.device().torch().str(); })
      .def_prop_ro("budget", [](const PythonDevice& device) { return device.device().budget(); })
      .def_prop_ro("unit", [](const PythonDevice& device) { return device.device().unit(); })
      .def_prop_ro("context", [](const PythonDevice& device) { return device.device().context(); })
      .def_prop_ro("workspace", [](const PythonDevice& device) { return device.device().workspace(); })
      .def_prop_ro("in_use", [](const PythonDevice& device) { return device.device().tensors().in_use(); })
      .def_prop_ro("peak", [](const PythonDevice& device) { return device.device().tensors().peak(); })
      .def_prop_ro("held", &held)
      .def("begin_peak", [](const PythonDevice& device) { return device.device().tensors().begin_peak(); })
      .def("end_peak",
           [](const PythonDevice& device, int64_t outer) { device.device().tensors().end_peak(outer); })
      .def("resize", &resize, without_lock)
      .def(
          "measure_again",
          [](PythonDevice& device) {
            require_empty(device, "the context cannot be measured");
            device.device().measure_again();
          },
          without_lock)
      .def(
          "warm_up", [](const PythonDevice& device) { warm_up_products(device.device().torch()); },
          without_lock)
      .def("enter", [](const PythonDevice& device) { scopes.push_back(device.scope()); })
      .def("leave", [](const PythonDevice&) {
        if (!scopes.empty()) scopes.pop_back();
      });
  module.def("open_cuda", &open_cuda, without_lock);
  module.def("stand_in", &make_stand_in);
  module.def("model_of_gpu", &model_of_gpu);
}

}  // namespace plimsoll
