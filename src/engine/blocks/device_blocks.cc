#include "engine/blocks/device_blocks.h"

#include <ATen/ops/empty.h>
#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <span>

#include "base/error.h"
#include "engine/blocks/ending.h"
#include "engine/blocks/torch_on_stream.h"
#include "ops/module_scope.h"
#include "ops/torch_cuda.h"

namespace plimsoll {
namespace {

void raise(std::atomic<int64_t>& max, int64_t value) {
  for (int64_t before = max; before < value;)
    if (max.compare_exchange_weak(before, value)) break;
}

int64_t rounded_bytes(const at::Tensor& tensor) {
  return DeviceRegion::round_up(static_cast<int64_t>(tensor.nbytes()));
}

// Bytes of x to copy: the rows that are not kept on the device.
int64_t coming_bytes(const Batch& batch) {
  if (!batch.row_place.defined()) return static_cast<int64_t>(batch.x.nbytes());
  const std::span places(batch.row_place.const_data_ptr<int32_t>(), static_cast<size_t>(batch.nodes()));
  return std::ranges::count_if(places, [](int32_t place) { return place < 0; }) * batch.x.size(1) *
         int64_t{sizeof(float)};
}

}  // namespace

DeviceBlocks::DeviceBlocks(Device& device, DeviceTensors& tensors, c10::Device torch,
                           const std::vector<const ParameterList*>& parameters)
    : device_(device),
      tensors_(tensors),
      torch_(torch),
      stream_(device.make_stream()),
      parameters_(device, tensors, torch, parameters) {}

void DeviceBlocks::make_lanes(int lanes, int64_t bytes) {
  {
    const MutexLock lock(mutex_);
    lane_of_.clear();
  }
  lanes_.clear();
  rows_.reset();
  highest_range_ = highest_staging_ = unforeseen_ = reruns_ = 0;
  if (!torch_.is_cpu()) clear_cublas_workspaces();  // Frees the workspaces of streams that no longer exist.
  for (int lane = 0; lane < lanes; ++lane) lanes_.push_back(std::make_unique<Lane>(device_, tensors_, bytes));
}

void DeviceBlocks::begin_record(TapeRecorder* recorder, const RangePlanner* planner) {
  recorder_ = recorder;
  recorded_planner_ = planner;
  highest_range_ = highest_staging_ = unforeseen_ = reruns_ = 0;
}

DeviceBlocks::Lane& DeviceBlocks::lane_of_this_thread() {
  const MutexLock lock(mutex_);
  const auto found = lane_of_.find(std::this_thread::get_id());
  if (found != lane_of_.end()) return *found->second;
  if (lane_of_.size() == lanes_.size())
    throw Failure(fmt::format("more threads run blocks on a device than its {} lanes", lanes_.size()));
  Lane& lane = *lanes_[lane_of_.size()];
  if (!torch_.is_cpu()) {
    const TorchOnStream on_stream(torch_, *lane.stream);
    warm_up_products(torch_);
    lane.stream->wait();
  }
  lane_of_.emplace(std::this_thread::get_id(), &lane);
  return lane;
}

std::byte* DeviceBlocks::Lane::stage(int64_t min_bytes) {
  if (staging == nullptr || staging->bytes() < min_bytes) {
    stream->wait();
    staging.reset();
    staging = device.pin(min_bytes);
  }
  return staging->write().data();
}

Batch DeviceBlocks::copy(Lane& lane, const Batch& batch) const {
  const ModuleScope scope("batch");  // kBatchModule of engine/plan/static_tape.h
  Batch on_device = batch;
  on_device.on_host = &batch;
  int64_t bytes = 0;
  on_device.each_tensor([&](const at::Tensor& tensor) { bytes += rounded_bytes(tensor); });
  std::byte* staging = lane.stage(bytes);
  Stretch coming;  // Rows of x that are not kept on the device.
  on_device.each_tensor([&](at::Tensor& tensor) {
    const at::Tensor on_host = tensor.contiguous();
    const bool is_x = &tensor == &on_device.x;
    tensor = at::empty(on_host.sizes(), on_host.options().device(torch_));
    if (on_host.numel() == 0) return;
    const int64_t copied = is_x ? coming_bytes(batch) : static_cast<int64_t>(on_host.nbytes());
    std::memcpy(staging, on_host.const_data_ptr(), static_cast<size_t>(copied));
    if (is_x && batch.row_place.defined())
      coming = {staging, copied};
    else
      lane.stream->copy_to_device(static_cast<std::byte*>(tensor.mutable_data_ptr()), staging, copied);
    staging += rounded_bytes(on_host);
    if (torch_.is_cpu())
      lane.stream->wait();  // The host is about to read the tensor, or to free it after an
                            // error.
  });
  if (coming.data == nullptr) return on_device;
  place_rows(*lane.stream, rows_ ? rows_->stretch() : Stretch{}, coming, on_device.row_place, on_device.x);
  if (torch_.is_cpu()) lane.stream->wait();
  return on_device;
}

// Copies the results of a block to the staging memory of the block's lane.
std::vector<DeviceBlocks::Staged> DeviceBlocks::copy_back(Lane& lane, const std::vector<at::Tensor>& found) {
  std::vector<at::Tensor> whole;
  std::vector<Staged> staged;
  int64_t bytes = 0;
  for (const at::Tensor& tensor : found) {
    whole.push_back(tensor.contiguous());
    staged.push_back({tensor.sizes().vec(), tensor.scalar_type(), bytes});
    bytes += rounded_bytes(tensor);
  }
  lane.stage(bytes);
  for (size_t i = 0; i < whole.size(); ++i)
    if (whole[i].numel() > 0)
      lane.stream->copy_to_host(lane.staging->data() + staged[i].place,
                                static_cast<std::byte*>(whole[i].mutable_data_ptr()),
                                static_cast<int64_t>(whole[i].nbytes()));
  lane.stream->wait();
  return staged;
}

std::vector<at::Tensor> DeviceBlocks::run_in(Lane& lane, Stretch room, const Batch& batch,
                                             const RangePlan& plan, const Work& work) {
  DeviceRange range(room, *lane.stream, plan.pieces);
  const TorchOnStream on_stream(torch_, *lane.stream);
  std::vector<Staged> staged;
  try {
    const DeviceRangeScope scope(&range, recorder_, torch_.is_cpu() ? &tensors_ : nullptr);
    std::vector<at::Tensor> found;
    {
      Batch on_device = copy(lane, batch);
      found = work(on_device);
    }
    staged = copy_back(lane, found);
  } catch (...) {
    // The next user of the memory must not find work in progress. A failed device reports an error here as
    // well, but the user sees only the first error.
    (void)error_of([&] { lane.stream->wait(); });
    throw;
  }
  // If the sizes differ, the block used the ranges of all lanes.
  if (room.bytes == lane.bytes) raise(highest_range_, range.high());
  raise(highest_staging_, lane.staging->bytes());
  if (range.left_plan()) ++unforeseen_;
  const std::byte* const from = lane.staging->read().data();
  std::vector<at::Tensor> on_host;
  for (const Staged& result : staged) {
    on_host.push_back(at::empty(result.sizes, result.type));
    if (on_host.back().numel() > 0)
      std::memcpy(on_host.back().mutable_data_ptr(), from + result.place, on_host.back().nbytes());
  }
  return on_host;
}

std::vector<at::Tensor> DeviceBlocks::run(const Batch& batch, std::span<const int64_t> graphs,
                                          const RangePlanner* planner, const Work& work) {
  Lane& lane = [&]() -> Lane& {
    // The workspace of a new lane must not be allocated where the range of a lane is placed.
    const SharedLock beside_others(running_);
    return lane_of_this_thread();
  }();
  if (recorder_ != nullptr) planner = recorded_planner_;
  if (planner != nullptr)
    planner->plan(graphs, lane.plan);
  else
    lane.plan.pieces.clear();
  try {
    const SharedLock beside_others(running_);
    return run_in(lane, lane.room->stretch(), batch, lane.plan, work);
  } catch (const DeviceRegionFull&) {
    // If there is only one lane and no plan, the block would fail again. A recording must contain one run
    // only.
    if (recorder_ != nullptr || (lanes_.size() < 2 && lane.plan.pieces.empty())) throw;
  }
  return run_alone(lane, batch, work);
}

std::vector<at::Tensor> DeviceBlocks::run_alone(Lane& lane, const Batch& batch, const Work& work) {
  const ExclusiveLock alone(running_);
  const int64_t bytes = lane.bytes;
  for (const auto& other : lanes_) other->room.reset();
  const auto as_before = [&] {
    for (const auto& other : lanes_)
      if (!other->room) other->room.emplace(tensors_, bytes);
  };
  try {
    std::vector<at::Tensor> found;
    {
      const DeviceTensors::HeldMemory all(tensors_, static_cast<int64_t>(lanes_.size()) * bytes);
      found = run_in(lane, all.stretch(), batch, {}, work);
    }
    ++reruns_;
    as_before();
    return found;
  } catch (...) {
    as_before();
    throw;
  }
}

}  // namespace plimsoll
