#include "ops/device_tensors.h"

#include <algorithm>

namespace plimsoll {
namespace {

thread_local DeviceRange* current_range = nullptr;
thread_local TapeRecorder* current_recorder = nullptr;
thread_local DeviceTensors* current_cpu = nullptr;

bool holds(const Stretch& room, const void* data) {
  const auto* const at = static_cast<const std::byte*>(data);
  return at >= room.data && at < room.data + room.bytes;
}

int64_t address_of(const void* data) {
  return static_cast<int64_t>(reinterpret_cast<uintptr_t>(data));
}

}  // namespace

void* DeviceTensors::take(int64_t bytes) {
  if (bytes == 0) return nullptr;
  if (current_range == nullptr) {
    const std::scoped_lock lock(mutex_);
    return region_->take(bytes).data;
  }
  std::byte* const data = current_range->take(bytes).data;
  if (current_recorder != nullptr)
    current_recorder->take(address_of(data), bytes, DeviceRegion::round_up(bytes));
  return data;
}

void DeviceTensors::give(void* data, int64_t bytes) noexcept {
  if (data == nullptr) return;
  const Stretch piece{static_cast<std::byte*>(data), bytes};
  if (current_range != nullptr && holds(current_range->room(), data)) {
    if (current_recorder != nullptr) current_recorder->give(address_of(data));
    current_range->give(piece);
    return;
  }
  const std::scoped_lock lock(mutex_);
  // What outlives its block, after an error, was of a range that is no more.
  if (std::ranges::none_of(rooms_, [&](const Stretch& room) { return holds(room, data); }))
    region_->give(piece);
}

int64_t DeviceTensors::in_use() const {
  const std::scoped_lock lock(mutex_);
  return region_->in_use();
}

int64_t DeviceTensors::high() const {
  const std::scoped_lock lock(mutex_);
  return region_->high();
}

DeviceTensors::Room::Room(DeviceTensors& tensors, int64_t bytes)
    : tensors_(tensors), stretch_([&] {
        const std::scoped_lock lock(tensors.mutex_);
        const Stretch room = tensors.region_->take(bytes);
        tensors.rooms_.push_back(room);
        return room;
      }()) {}

DeviceTensors::Room::~Room() {
  const std::scoped_lock lock(tensors_.mutex_);
  std::erase_if(tensors_.rooms_, [&](const Stretch& room) { return room.data == stretch_.data; });
  tensors_.region_->give(stretch_);
}

DeviceRangeScope::DeviceRangeScope(DeviceRange& range, TapeRecorder* recorder, DeviceTensors* cpu) {
  current_range = &range;
  current_recorder = recorder;
  current_cpu = cpu;
  WorkspaceScope::tell(this);
}
DeviceRangeScope::~DeviceRangeScope() {
  WorkspaceScope::tell(nullptr);
  current_range = nullptr;
  current_recorder = nullptr;
  current_cpu = nullptr;
}
void DeviceRangeScope::begin_workspace() {
  if (current_recorder != nullptr) current_recorder->begin_workspace();
  current_range->begin_workspace();
}
void DeviceRangeScope::end_workspace() noexcept {
  if (current_recorder != nullptr) current_recorder->end_workspace();
  current_range->end_workspace();
}
DeviceTensors* DeviceRangeScope::cpu_tensors() {
  return current_cpu;
}

}  // namespace plimsoll
