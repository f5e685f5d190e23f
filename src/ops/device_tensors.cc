#include "ops/device_tensors.h"

#include <algorithm>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

thread_local DeviceRangeScope* current = nullptr;

bool holds(const Stretch& stretch, const void* data) {
  const auto* const at = static_cast<const std::byte*>(data);
  return at >= stretch.data && at < stretch.data + stretch.bytes;
}

int64_t address_of(const void* data) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
}

}  // namespace

void* DeviceTensors::take(int64_t bytes, const void* stream) {
  DeviceRange* const range = current != nullptr ? current->range_ : nullptr;
  TapeRecorder* const recorder = current != nullptr ? current->recorder_ : nullptr;
  if (bytes == 0) {
    // A tensor of 0 bytes is a step of the plan that needs no place.
    if (range != nullptr) range->take_nothing();
    if (recorder != nullptr) recorder->take(0, 0, 0);
    return nullptr;
  }
  void* const data = range != nullptr ? range->take(bytes).data : take_of_region(bytes, stream);
  if (recorder != nullptr) recorder->take(address_of(data), bytes, DeviceRegion::round_up(bytes));
  return data;
}

void* DeviceTensors::take_of_region(int64_t bytes, const void* stream) {
  const MutexLock lock(mutex_);
  if (region_ == nullptr)
    throw Failure("the memory of the GPU could not be allocated again; start another process");
  if ((stream != last_stream_ || freed_on_other_) && wait_) wait_();
  last_stream_ = stream;
  freed_on_other_ = false;
  try {
    void* const data = region_->take(bytes).data;
    peak_ = std::max(peak_, region_->in_use());
    return data;
  } catch (const DeviceRegionFull& full) {
    if (refuse_ != nullptr) refuse_(full);
    throw;
  }
}

void DeviceTensors::give(void* data, int64_t bytes, const void* stream) noexcept {
  if (data == nullptr) return;
  const Stretch piece{static_cast<std::byte*>(data), bytes};
  DeviceRange* const range = current != nullptr ? current->range_ : nullptr;
  const bool in_range = range != nullptr && holds(range->stretch(), data);
  if (current != nullptr && current->recorder_ != nullptr && (in_range || range == nullptr))
    current->recorder_->give(address_of(data));
  if (in_range) {
    range->give(piece);
    return;
  }
  const MutexLock lock(mutex_);
  freed_on_other_ = freed_on_other_ || stream != last_stream_;
  if (region_ == nullptr) return;
  // A piece that outlived its block after an error may be in a range that no longer exists.
  if (std::ranges::none_of(held_, [&](const Stretch& stretch) { return holds(stretch, data); }))
    region_->give(piece);
}

int64_t DeviceTensors::in_use() const {
  const MutexLock lock(mutex_);
  return region_ != nullptr ? region_->in_use() : 0;
}

int64_t DeviceTensors::high() const {
  const MutexLock lock(mutex_);
  return region_ != nullptr ? region_->high() : 0;
}

int64_t DeviceTensors::peak() const {
  const MutexLock lock(mutex_);
  return peak_;
}

int64_t DeviceTensors::begin_peak() {
  const MutexLock lock(mutex_);
  return std::exchange(peak_, region_ != nullptr ? region_->in_use() : 0);
}

void DeviceTensors::end_peak(int64_t outer) {
  const MutexLock lock(mutex_);
  peak_ = std::max(peak_, outer);
}

DeviceTensors::HeldMemory::HeldMemory(DeviceTensors& tensors, int64_t bytes)
    : tensors_(tensors), stretch_([&] {
        const MutexLock lock(tensors.mutex_);
        const Stretch stretch = tensors.region_->take(bytes);
        tensors.held_.push_back(stretch);
        return stretch;
      }()) {}

DeviceTensors::HeldMemory::~HeldMemory() {
  const MutexLock lock(tensors_.mutex_);
  std::erase_if(tensors_.held_, [&](const Stretch& stretch) { return stretch.data == stretch_.data; });
  tensors_.region_->give(stretch_);
}

DeviceRangeScope::DeviceRangeScope(DeviceRange* range, TapeRecorder* recorder, DeviceTensors* cpu)
    : range_(range), recorder_(recorder), cpu_(cpu), outer_(current) {
  current = this;
  WorkspaceScope::set_listener(this);
}
DeviceRangeScope::~DeviceRangeScope() {
  current = outer_;
  WorkspaceScope::set_listener(outer_);
}
void DeviceRangeScope::begin_workspace() {
  if (recorder_ != nullptr) recorder_->begin_workspace();
  if (range_ != nullptr) range_->begin_workspace();
}
void DeviceRangeScope::end_workspace() noexcept {
  if (recorder_ != nullptr) recorder_->end_workspace();
  if (range_ != nullptr) range_->end_workspace();
}
DeviceTensors* DeviceRangeScope::cpu_tensors() {
  return current != nullptr ? current->cpu_ : nullptr;
}

}  // namespace plimsoll
