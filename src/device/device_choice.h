#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

#include "base/error.h"
#include "device/device_ledger.h"

namespace plimsoll {

/// What --device says: cpu, cuda, cuda:N or auto.
struct DeviceChoice {
  enum class Kind : uint8_t { cpu, cuda, automatic };
  Kind kind = Kind::cpu;
  int index = 0;

  bool operator==(const DeviceChoice&) const = default;
};

/// Errors: UsageError that shows what is understood.
DeviceChoice parse_device(std::string_view text);

/// A device that is asked for is not there, or cannot do what is asked: exit code 2, with the remedy.
class NoDevice : public UsageError {
 public:
  using UsageError::UsageError;
};

/// The device that a choice means here: `auto` is the first one of CUDA, else the CPU (none). Errors:
/// NoDevice where one of CUDA is asked for and is not there.
std::optional<int> cuda_index(const DeviceChoice& choice);

/// The bytes that --device-budget says: of `total`, or of a device that is not here (none), whose share
/// nobody knows. Empty text: all of total. Errors: UsageError.
int64_t device_budget(std::string_view text, std::optional<int64_t> total);

}  // namespace plimsoll
