#pragma once

#include <array>
#include <cstdint>
#include <limits>

#include "base/error.h"
#include "base/mutex.h"

namespace plimsoll {

/// The purpose of memory on a device. Staging memory is pinned memory of the host, which the process's ledger
/// (memory/ledger.h) counts.
enum class DeviceAccount : uint8_t {
  context,     ///< Memory that the driver allocates for this process, measured when the device is opened.
  workspaces,  ///< Workspaces of libraries: one of a fixed size per stream.
  region,      ///< The region that holds all tensors.
};
inline constexpr int kDeviceAccounts = 3;
const char* account_name(DeviceAccount account);

/// Thrown if an entry would exceed the device's budget; exit code 4.
class DeviceBudgetExceeded : public Error {
 public:
  DeviceBudgetExceeded(DeviceAccount account, int64_t asked, int64_t free, int64_t budget);
};

/// The ledger of one device's memory. Unlike the ledger of the process, it counts all memory that the process
/// uses on the device, including the context, so its cap is the budget. Thread-safe.
class DeviceLedger {
 public:
  static constexpr int64_t kUnlimited = std::numeric_limits<int64_t>::max();

  /// Enters memory. Errors: DeviceBudgetExceeded, with nothing entered, if the sum would exceed the budget.
  void take(DeviceAccount account, int64_t bytes);
  void give(DeviceAccount account, int64_t bytes) noexcept;

  int64_t held() const;
  int64_t held(DeviceAccount account) const;
  int64_t peak() const;
  int64_t budget() const;
  /// Sets the budget. If it is below the memory held, every new entry is refused and nothing is freed.
  void set_budget(int64_t budget);

 private:
  mutable Mutex mutex_;
  std::array<int64_t, kDeviceAccounts> accounts_ PLIMSOLL_GUARDED_BY(mutex_){};
  int64_t held_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t peak_ PLIMSOLL_GUARDED_BY(mutex_) = 0;
  int64_t budget_ PLIMSOLL_GUARDED_BY(mutex_) = kUnlimited;
};

}  // namespace plimsoll
