#include "train/engine/training_device.h"

#include <ATen/Functions.h>
#include <fmt/format.h>
#include <torch/csrc/autograd/autograd.h>

#include <algorithm>
#include <thread>

#include "base/units.h"
#include "device/cuda_device.h"
#include "ops/torch_cuda.h"
#include "train/engine/torch_on_stream.h"

namespace plimsoll {
namespace {

constexpr int64_t kScratch = 256 * kMiB;
constexpr int64_t kPage = 2 * kMiB;  // a GPU's memory is taken in pages of that size

// What loads a module or makes a handle when it is first used, on a stream of its own. Sorting and sums are
// here for their modules.
void use_libraries(Device& device, c10::Device torch) {
  const auto stream = device.make_stream();
  const TorchOnStream on_stream(torch, *stream);
  warm_up_products(torch);
  const at::TensorOptions options = at::TensorOptions(torch).dtype(at::kFloat);
  const at::Tensor weight = at::zeros({64, 16}, options).set_requires_grad(true);
  const at::Tensor ids = at::zeros({5000}, options.dtype(at::kLong));
  const at::Tensor rows = at::embedding(weight, ids);
  torch::autograd::grad({at::log_softmax(rows, 1).sum()}, {weight});
  at::sort(ids, /*stable=*/true, 0, /*descending=*/false);
  stream->wait();
}

}  // namespace

TrainingDevice::TrainingDevice(std::unique_ptr<Device> device, int64_t budget, int threads)
    : budget_(budget), threads_(threads), device_(std::move(device)) {
  device_->ledger().set_budget(budget);
  context_ = device_->ledger().held(DeviceAccount::context);
  take_region(budget - context_);
}

TrainingDevice::TrainingDevice(int index, int64_t budget, int threads)
    : budget_(budget), threads_(threads), index_(index), used_before_(cuda_used_bytes(index)) {
  device_ = open_cuda_device(index, budget);
  const int64_t at_opening = device_->ledger().held(DeviceAccount::context);
  take_region(kScratch);
  torch_ = load_torch_cuda(index, *tensors_);
  const auto beside_region = [&] { return measured().value_or(at_opening + kScratch) - kScratch; };
  {
    const auto stream = device_->make_stream();
    const TorchOnStream on_stream(torch_, *stream);
    warm_up_products(torch_);
    workspace_ = tensors_->high();  // with what a product has of it for a moment
  }
  use_libraries(*device_, torch_);
  context_ = beside_region();
  if (threads > 1) {
    std::thread([&] { use_libraries(*device_, torch_); }).join();
    // The thread that ended leaves its handles to the next.
    const int64_t of_two = beside_region();
    context_ = of_two + (threads - 2) * std::max<int64_t>(of_two - context_, 0);
  }
  give_region();
  device_->ledger().give(DeviceAccount::context, at_opening);
  device_->ledger().take(DeviceAccount::context, context_);
  take_region(budget - context_);
}

void TrainingDevice::resize(int64_t budget) {
  give_region();
  device_->ledger().set_budget(budget);
  budget_ = budget;
  take_region(budget - context_);
}

std::unique_ptr<TrainingDevice> TrainingDevice::open_cuda(int index, int64_t budget, int threads) {
  return std::unique_ptr<TrainingDevice>(new TrainingDevice(index, budget, threads));
}

void TrainingDevice::take_region(int64_t bytes) {
  if (bytes <= 0) throw DeviceBudgetExceeded(DeviceAccount::region, kPage, bytes, budget_);
  if (index_ && bytes > kPage) bytes = bytes / kPage * kPage;
  region_ = std::make_unique<DeviceRegion>(*device_, bytes);
  if (tensors_ == nullptr)
    tensors_ = std::make_unique<DeviceTensors>(*region_);
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

std::optional<int64_t> TrainingDevice::measured() const {
  if (!index_ || !used_before_) return {};
  const std::optional<int64_t> now = cuda_used_bytes(*index_);
  if (!now) return {};
  return *now - *used_before_;
}

}  // namespace plimsoll
