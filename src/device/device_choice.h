#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/words.h"
#include "device/device_ledger.h"

namespace plimsoll {

/// The value of --device: cpu, cuda, cuda:N or auto; in builds for tests, also stand-in (device/stand_in.h).
struct DeviceChoice {
  enum class Kind : uint8_t { cpu, cuda, automatic, stand_in };
  Kind kind = Kind::cpu;
  int index = 0;
  bool is_indexed = false;  ///< Whether the text has the number N.

  bool operator==(const DeviceChoice&) const = default;
};

template <>
inline constexpr auto kWords<DeviceChoice::Kind> = std::to_array<std::string_view>({"cpu", "cuda", "auto",
                                                                                    "stand-in"});

/// Parses --device. It accepts stand-in in every build; require_stand_in() refuses it where there is none.
/// Errors: UsageError that lists the valid values.
DeviceChoice parse_device(std::string_view text);

/// The environment variable in which schedulers list the devices of a job, and what is wrong if it is empty.
inline constexpr const char* kVisibleDevices = "CUDA_VISIBLE_DEVICES";
inline constexpr const char* kNoneVisible =
    "CUDA_VISIBLE_DEVICES is empty, which hides every GPU; request one from the scheduler "
    "(sbatch --gres=gpu:1), or unset it";

/// Thrown if the requested device does not exist or cannot run the work; exit code 2, with a remedy.
class NoDevice : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Returns the index of the CUDA device that a choice selects on this machine, or nullopt for the CPU and the
/// stand-in. `auto` selects the first CUDA device, or the CPU if there is none. Errors: NoDevice if a CUDA
/// device is requested and does not exist.
std::optional<int> cuda_index(const DeviceChoice& choice);

/// A device that has not been opened.
struct DeviceFacts {
  std::string name;   ///< The name that its driver reports, such as "cuda:0, NVIDIA H200".
  int64_t total = 0;  ///< Bytes of its memory.
  /// Bytes that other processes use; nullopt if the driver's monitor, NVML, is not available.
  std::optional<int64_t> used = {};
};

/// Parses --device-budget for a device of this machine and returns bytes. An empty text means all free
/// memory: the total minus `used`, or the total if that is not known. A percentage is of the free memory.
/// Errors: UsageError if the text is not a size, or is more than the memory of the device; NoDevice if other
/// processes have left less.
int64_t free_device_budget(std::string_view text, const DeviceFacts& device);

/// Parses --device-budget and returns bytes. `total` is the size of the device. An empty text means the whole
/// device, and a percentage is of it. `total` is nullopt for a device of another machine; the text must then
/// be a size in bytes. Errors: UsageError, also for more than `total`.
int64_t device_budget(std::string_view text, std::optional<int64_t> total);

}  // namespace plimsoll
