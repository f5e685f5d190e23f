#include "engine/blocks/training_device.h"

#include <ATen/Functions.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>

#include "base/start_thread.h"
#include "base/units.h"
#include "device/cuda_device.h"
#include "engine/blocks/ending.h"
#include "engine/blocks/torch_on_stream.h"
#include "ops/embedding/embedding.h"
#include "ops/linear_losses/linear_losses.h"
#include "ops/torch_cuda.h"

namespace plimsoll {
namespace {

constexpr int64_t kScratch = 64 * kMiB;
// CUDA loads a kernel of torch when it is first used. Runs were measured to need up to 6 MiB for this
// (bench/results/gpu.md).
constexpr int64_t kLoadedLater = 8 * kMiB;

// Calls every function that loads a module or makes a handle on its first use, on a separate stream. Sorting
// and sums are called to load their modules.
void use_libraries(Device& device, c10::Device torch) {
  const auto stream = device.make_stream();
  const TorchOnStream on_stream(torch, *stream);
  warm_up_products(torch);
  const at::TensorOptions options = at::TensorOptions(torch).dtype(at::kFloat);
  const at::Tensor weight = at::zeros({64, 16}, options).set_requires_grad(true);
  const at::Tensor ids = at::zeros({5000}, options.dtype(at::kLong));
  const at::Tensor logits = at::log_softmax(embedding_rows(weight, ids), 1);
  torch::autograd::grad({at::nll_loss(logits, ids)}, {weight});
  const at::Tensor rows = weight.detach();
  const at::Tensor bias = at::zeros({64}, options);
  const at::Tensor few = at::zeros({65}, ids.options());
  linear_cross_entropy_both_on_device(rows, rows, bias, few.narrow(0, 0, 64));
  linear_multilabel_bce_both_on_device(rows, rows, bias, few, few);
  at::sort(ids, /*stable=*/true, 0, /*descending=*/false);
  stream->wait();
}

}  // namespace

TrainingDevice::TrainingDevice(std::unique_ptr<Device> device, int64_t budget, int threads,
                               std::unique_ptr<GpuMonitor> monitor)
    : budget_(budget), threads_(threads), monitor_(std::move(monitor)), device_(std::move(device)) {
  device_->ledger().set_budget(budget);
  context_ = device_->ledger().held(DeviceAccount::context);
  take_region(budget - context_);
}

TrainingDevice::TrainingDevice(int index, int64_t budget, int threads)
    : budget_(budget), threads_(threads), index_(index), monitor_(monitor_cuda_device(index)) {
  device_ = open_cuda_device(index, budget, monitor_.get());
  const int64_t at_opening = device_->ledger().held(DeviceAccount::context);
  const int64_t free_at_opening = device_->free_bytes();
  take_region(kScratch);
  torch_ = load_torch_cuda(index, tensors_);
  try {
    measure_libraries(at_opening, free_at_opening);
    take_region(budget - context_);
  } catch (...) {
    tensors_->leave_region();  // Torch keeps the allocator of the tensors.
    throw;
  }
}

void TrainingDevice::measure_libraries(int64_t at_opening, int64_t free_at_opening) {
  // Device memory in use outside the region.
  const auto held = [&] {
    clear_cublas_workspaces();
    const auto now = reading();
    return (now ? now->held : at_opening + free_at_opening - device_->free_bytes()) - kScratch;
  };
  {
    const auto stream = device_->make_stream();
    const TorchOnStream on_stream(torch_, *stream);
    warm_up_products(torch_);
    workspace_ = tensors_->high();  // Includes the memory that a product uses temporarily.
  }
  clear_cublas_workspaces();
  use_libraries(*device_, torch_);
  context_ = held();
  if (threads_ > 1) {
    std::exception_ptr error;
    start_thread([&] { error = error_of([&] { use_libraries(*device_, torch_); }); }).join();
    if (error) std::rethrow_exception(error);
    // A thread leaves its handles to the next thread when it ends.
    const int64_t of_two = held();
    context_ = of_two + (threads_ - 2) * std::max<int64_t>(of_two - context_, 0);
  }
  context_ += kLoadedLater;
  give_region();
  device_->ledger().give(DeviceAccount::context, at_opening);
  device_->ledger().take(DeviceAccount::context, context_);
}

void TrainingDevice::resize(int64_t budget) {
  if (budget - context_ < unit())
    throw DeviceBudgetExceeded(DeviceAccount::region, unit(), std::max<int64_t>(budget - context_, 0),
                               budget);
  const int64_t before = budget_;
  const auto take = [&](int64_t bytes) {
    device_->ledger().set_budget(bytes);
    budget_ = bytes;
    take_region(bytes - context_);
  };
  give_region();
  try {
    take(budget);
  } catch (...) {
    take(before);
    throw;
  }
}

void TrainingDevice::measure_again() {
  const auto now = reading();
  if (!now) return;
  const int64_t more = now->held - region_->bytes() - context_;
  if (more <= 0) return;
  if (budget_ - context_ - more < unit())
    throw DeviceBudgetExceeded(DeviceAccount::context, more, budget_ - context_, budget_);
  give_region();
  context_ += more;
  device_->ledger().take(DeviceAccount::context, more);
  take_region(budget_ - context_);
}

std::unique_ptr<TrainingDevice> TrainingDevice::open_cuda(int index, int64_t budget, int threads) {
  return std::unique_ptr<TrainingDevice>(new TrainingDevice(index, budget, threads));
}

void TrainingDevice::take_region(int64_t bytes) {
  if (bytes <= 0) throw DeviceBudgetExceeded(DeviceAccount::region, unit(), bytes, budget_);
  bytes = std::max(bytes / unit() * unit(), unit());
  region_ = std::make_unique<DeviceRegion>(*device_, bytes);
  if (tensors_ == nullptr)
    tensors_ = std::make_shared<DeviceTensors>(*region_);
  else
    tensors_->move_to(*region_);
}

void TrainingDevice::give_region() {
  if (index_) clear_cublas_workspaces();
  tensors_->leave_region();
  region_.reset();
}

std::string TrainingDevice::model() const {
  const std::string name = device_->name();  // "cuda:0, NVIDIA H200"
  const size_t comma = name.find(", ");
  return comma == std::string::npos ? name : name.substr(comma + 2);
}

std::optional<GpuMonitor::Reading> TrainingDevice::reading() const {
  return monitor_ != nullptr ? monitor_->read() : std::nullopt;
}

}  // namespace plimsoll
