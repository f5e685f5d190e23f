#pragma once

#include <ATen/core/Tensor.h>

#include <atomic>
#include <functional>
#include <map>
#include <memory>
#include <mutex>
#include <optional>
#include <shared_mutex>
#include <thread>
#include <vector>

#include "engine/blocks/device_parameters.h"
#include "engine/blocks/device_rows.h"
#include "nn/batch.h"
#include "ops/device_tensors.h"
#include "sample/block/block_runner.h"

namespace plimsoll {

/// Runs blocks on a device. What collate() made is copied there, the network runs on a stream of the
/// thread's own, in a range of the region, and what it found comes back to the host, where gradients are
/// added and the optimizer steps as without a device. So the host's memory, checkpoints and order of sums are
/// the same, and the device holds the parameters, the blocks in flight, and rows of features of a giant
/// graph.
class DeviceBlocks {
 public:
  /// All must outlive it. `torch`: where tensors are made.
  DeviceBlocks(Device& device, DeviceTensors& tensors, c10::Device torch,
               const std::vector<const ParameterList*>& parameters);

  /// Gives back the lanes there are, with what is known of their blocks, and makes so many, each with a range
  /// of `bytes` for a block. Errors: DeviceRegionFull.
  void make_lanes(int lanes, int64_t bytes);

  /// Puts rows of features there, by way of `staging_bytes` of pinned memory, until there are lanes for
  /// another plan: from now on `source` leaves them out of blocks. Errors: those of DeviceRows.
  void keep_rows(const FeatureRows& source, const DeviceRows::Size& size, int64_t staging_bytes) {
    rows_.emplace(device_, tensors_, source, size, staging_bytes);
  }
  /// Null: there are none.
  const DeviceRows* rows() const { return rows_ ? &*rows_ : nullptr; }

  /// While it lives, models have their parameters on the device (DeviceParameters::InUse).
  std::unique_ptr<DeviceParameters::InUse> use_parameters() {
    return std::make_unique<DeviceParameters::InUse>(parameters_, *stream_);
  }

  /// work(the batch on the device), as of a block of these graphs, for which `planner`, if any, says where
  /// tensors go. Returns what it returns, on the host. The first lane that is free is the thread's from then
  /// on. A block that finds no room in its range runs again with those of all lanes, and without a plan.
  /// Several threads may call it at once. Errors: of work; DeviceRegionFull.
  using Work = std::function<std::vector<at::Tensor>(Batch& batch)>;
  std::vector<at::Tensor> run(const Batch& batch, std::span<const int64_t> graphs,
                              const RangePlanner* planner, const Work& work);

  /// From now on writes down what blocks take and give of their ranges, in which tensors go as `planner`
  /// says, whatever run() is told. What is known of blocks begins again. A block that finds no room is not
  /// run again.
  void begin_record(TapeRecorder* recorder, const RangePlanner* planner);
  void end_record() { recorder_ = nullptr; }
  /// The most of a range that a block has had in use.
  int64_t highest_range() const { return highest_range_; }
  /// The most pinned memory that a block has had in use.
  int64_t highest_staging() const { return highest_staging_; }
  /// Blocks whose tensors were not as planned.
  int64_t unforeseen() const { return unforeseen_; }
  /// Blocks that ran again, alone.
  int64_t reruns() const { return reruns_; }
  /// The bytes of a lane's range; there must be one.
  int64_t lane_bytes() const { return lanes_.front()->bytes; }
  int lanes() const { return static_cast<int>(lanes_.size()); }

 private:
  struct Lane {
    Lane(Device& of, DeviceTensors& tensors, int64_t size)
        : device(of), bytes(size), stream(of.make_stream()) {
      room.emplace(tensors, bytes);
    }
    std::byte* stage(int64_t wanted);

    Device& device;
    const int64_t bytes;  // of its room
    std::optional<DeviceTensors::HeldMemory> room;
    std::unique_ptr<PinnedBuffer> staging;  // grows to the largest block's
    RangePlan plan;
    std::unique_ptr<DeviceStream> stream;  // ends first, with its work
  };
  Lane& lane_of_this_thread();
  Batch copy(Lane& lane, const Batch& batch) const;
  // A tensor in a lane's staging.
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
  std::unique_ptr<DeviceStream> stream_;  // for parameters
  DeviceParameters parameters_;
  std::optional<DeviceRows> rows_;
  std::vector<std::unique_ptr<Lane>> lanes_;
  std::mutex mutex_;
  std::map<std::thread::id, Lane*> lane_of_;
  TapeRecorder* recorder_ = nullptr;
  const RangePlanner* recorded_planner_ = nullptr;
  std::shared_mutex running_;  // a block that needs all ranges waits until no other has one
  std::atomic<int64_t> highest_range_ = 0;
  std::atomic<int64_t> highest_staging_ = 0;
  std::atomic<int64_t> unforeseen_ = 0;
  std::atomic<int64_t> reruns_ = 0;
};

}  // namespace plimsoll
