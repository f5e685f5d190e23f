#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "base/words.h"
#include "device/device_ledger.h"

namespace plimsoll {

/// The value of --device: cpu, cuda, cuda:N or auto.
struct DeviceChoice {
  enum class Kind : uint8_t { cpu, cuda, automatic };
  Kind kind = Kind::cpu;
  int index = 0;

  bool operator==(const DeviceChoice&) const = default;
};

template <>
inline constexpr auto kWords<DeviceChoice::Kind> = std::to_array<std::string_view>({"cpu", "cuda", "auto"});

/// Parses --device. Errors: UsageError that lists the valid values.
DeviceChoice parse_device(std::string_view text);

/// Thrown if the requested device does not exist or cannot run the work; exit code 2, with a remedy.
class NoDevice : public UsageError {
 public:
  using UsageError::UsageError;
};

/// Returns the index of the CUDA device that a choice selects on this machine, or nullopt for the CPU. `auto`
/// is the first CUDA device, or the CPU if there is none. Errors: NoDevice if a CUDA device is requested and
/// does not exist.
std::optional<int> cuda_index(const DeviceChoice& choice);

/// Parses --device-budget and returns bytes. `total` is the size of the device. It is nullopt for a device of
/// another machine, of which a share cannot be computed. An empty text means the whole device. Errors:
/// UsageError.
int64_t device_budget(std::string_view text, std::optional<int64_t> total);

}  // namespace plimsoll
