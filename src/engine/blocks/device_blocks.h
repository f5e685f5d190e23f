#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <thread>
#include <vector>

#include "base/shared_mutex.h"
#include "engine/blocks/device_parameters.h"
#include "engine/blocks/device_rows.h"
#include "nn/batch.h"
#include "ops/device_tensors.h"
#include "sample/block/block_runner.h"

namespace plimsoll {

/// Runs blocks on a device. The tensors of collate() are copied to the device, and the network runs on the
/// thread's own stream in a range of the region. The results are copied back to the host, which adds
/// gradients and updates parameters as it does without a device. The host's memory, checkpoints and order of
/// sums are therefore the same. The device holds the parameters, the blocks in flight, and feature rows of a
/// giant graph.
class DeviceBlocks {
 public:
  /// All arguments must outlive the object. Tensors are made on `torch`. `parameters` are the lists of all
  /// models that run in blocks. Errors: those of DeviceParameters and of Device::make_stream().
  DeviceBlocks(Device& device, DeviceTensors& tensors, c10::Device torch,
               const std::vector<const ParameterList*>& parameters);

  /// Frees the existing lanes and their counters, and makes `lanes` new ones, each with a range of `bytes`
  /// for a block. Must not be called while a block runs. Errors: DeviceRegionFull; those of
  /// Device::make_stream().
  void make_lanes(int lanes, int64_t bytes);

  /// Keeps feature rows on the device, copied via `staging_bytes` of pinned memory, until make_lanes() is
  /// called. Meanwhile `source` leaves these rows out of blocks. Errors: those of DeviceRows.
  void keep_rows(const FeatureRows& source, const DeviceRows::Size& size, int64_t staging_bytes) {
    rows_.emplace(device_, tensors_, source, size, staging_bytes);
  }
  /// The rows kept on the device, or null.
  const DeviceRows* rows() const { return rows_ ? &*rows_ : nullptr; }

  /// While the returned object lives, the parameters of the models are on the device
  /// (DeviceParameters::InUse).
  std::unique_ptr<DeviceParameters::InUse> use_parameters() {
    return std::make_unique<DeviceParameters::InUse>(parameters_, *stream_);
  }

  /// Calls `work` with the batch on the device and returns its results on the host. `graphs` belong to the
  /// block; `planner`, if any, decides where the block's tensors are placed. A thread gets the first free
  /// lane on its first call, and keeps it. A block that does not fit into its range runs again alone, with
  /// the ranges of all lanes and without a plan. Several threads may call it at once, but no more than
  /// lanes(). Errors: those of `work`; DeviceRegionFull; BudgetExceeded for pinned memory; Failure if there
  /// are more threads than lanes.
  using Work = std::function<std::vector<at::Tensor>(Batch& batch)>;
  std::vector<at::Tensor> run(const Batch& batch, std::span<const int64_t> graphs,
                              const RangePlanner* planner, const Work& work);

  /// Starts to record the allocations of blocks in their ranges, placed by `planner` instead of the planner
  /// given to run(). Resets the counters. While recording, a block that does not fit does not run again. No
  /// block may run during this call or during end_record().
  void begin_record(TapeRecorder* recorder, const RangePlanner* planner);
  void end_record() { recorder_ = nullptr; }
  /// Maximum bytes that a block has used of its range.
  int64_t highest_range() const { return highest_range_; }
  /// Maximum bytes of a lane's pinned memory.
  int64_t highest_staging() const { return highest_staging_; }
  /// Number of blocks whose tensors were not placed as planned.
  int64_t unforeseen() const { return unforeseen_; }
  /// Number of blocks that ran again, alone.
  int64_t reruns() const { return reruns_; }
  /// Bytes of a lane's range. At least one lane must exist.
  int64_t lane_bytes() const { return lanes_.front()->bytes; }
  int lanes() const { return static_cast<int>(lanes_.size()); }

 private:
  struct Lane {
    Lane(Device& lane_device, DeviceTensors& tensors, int64_t size)
        : device(lane_device), bytes(size), stream(lane_device.make_stream()) {
      room.emplace(tensors, bytes);
    }
    std::byte* stage(int64_t min_bytes);

    Device& device;
    const int64_t bytes;  // Bytes of `room`.
    std::optional<DeviceTensors::HeldMemory> room;
    std::unique_ptr<PinnedBuffer> staging;  // Grows to the size of the largest block.
    RangePlan plan;
    // Destroyed first, so that its work is done before the memory is freed.
    std::unique_ptr<DeviceStream> stream;
  };
  Lane& lane_of_this_thread();
  Batch copy(Lane& lane, const Batch& batch) const;
  // A tensor in the staging memory of a lane.
  struct Staged {
    std::vector<int64_t> sizes;
    at::ScalarType type;
    int64_t place;
  };
  std::vector<at::Tensor> run_in(Lane& lane, Stretch room, const Batch& batch, const RangePlan& plan,
                                 const Work& work);
  std::vector<at::Tensor> run_alone(Lane& lane, const Batch& batch, const Work& work);
  static std::vector<Staged> copy_back(Lane& lane, const std::vector<at::Tensor>& found);

  Device& device_;
  DeviceTensors& tensors_;
  const c10::Device torch_;
  std::unique_ptr<DeviceStream> stream_;  // Stream of the parameters.
  DeviceParameters parameters_;
  std::optional<DeviceRows> rows_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  Mutex mutex_;
  std::map<std::thread::id, Lane*> lane_of_ PLIMSOLL_GUARDED_BY(mutex_);
  TapeRecorder* recorder_ = nullptr;
  const RangePlanner* recorded_planner_ = nullptr;
  SharedMutex running_;  // Locked exclusively by a block that needs the ranges of all lanes.
  std::atomic<int64_t> highest_range_ = 0;
  std::atomic<int64_t> highest_staging_ = 0;
  std::atomic<int64_t> unforeseen_ = 0;
  std::atomic<int64_t> reruns_ = 0;
};

}  // namespace plimsoll
