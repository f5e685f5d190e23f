#pragma once

#include <array>
#include <cstdint>
#include <limits>
#include <mutex>

#include "base/error.h"

namespace plimsoll {

/// What memory of a device is for. Staging is pinned memory of the host, and stands in the ledger of the
/// process (memory/ledger.h).
enum class DeviceAccount : uint8_t {
  context,     ///< what the driver takes for this process, measured when the device is opened
  workspaces,  ///< of libraries: one of a fixed size for each stream
  region,      ///< the one region, in which all tensors lie
};
inline constexpr int kDeviceAccounts = 3;
const char* account_name(DeviceAccount account);

/// Thrown when an entry would pass the device's budget; exit code 4.
class DeviceBudgetExceeded : public Error {
 public:
  DeviceBudgetExceeded(DeviceAccount account, int64_t asked, int64_t free, int64_t budget);
};

/// The book of one device's memory. Unlike the ledger of the process it counts everything that the process
/// has there, the context too, so that its cap is the budget. Thread-safe.
class DeviceLedger {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  /// Errors: DeviceBudgetExceeded, with nothing entered, if the sum would pass the budget.
  void take(DeviceAccount account, int64_t bytes);
  void give(DeviceAccount account, int64_t bytes) noexcept;

  int64_t held() const;
  int64_t held(DeviceAccount account) const;
  int64_t peak() const;
  int64_t budget() const;
  /// A budget below what is held refuses every new entry and takes nothing away.
  void set_budget(int64_t budget);

 private:
  mutable std::mutex mutex_;
  std::array<int64_t, kDeviceAccounts> accounts_{};
  int64_t held_ = 0;
  int64_t peak_ = 0;
  int64_t budget_ = kUnlimited;
};

}  // namespace plimsoll
