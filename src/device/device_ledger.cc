#include "device/device_ledger.h"

#include <fmt/format.h>

#include <algorithm>

#include "base/units.h"

namespace plimsoll {

const char* account_name(DeviceAccount account) {
  static constexpr std::array<const char*, kDeviceAccounts> kNames = {"context", "workspaces", "region"};
  return kNames[static_cast<size_t>(account)];
}

DeviceBudgetExceeded::DeviceBudgetExceeded(DeviceAccount account, int64_t asked, int64_t free, int64_t budget)
    : Error(4,
            fmt::format("out of device budget: {} ({} bytes) requested for '{}', {} bytes free of {} bytes; "
                        "raise --device-budget by at least {}",
                        format_bytes(asked), asked, account_name(account), free, budget,
                        format_bytes(asked - free))) {}

void DeviceLedger::take(DeviceAccount account, int64_t bytes) {
  const MutexLock lock(mutex_);
  if (bytes > budget_ - held_)
    throw DeviceBudgetExceeded(account, bytes, std::max<int64_t>(budget_ - held_, 0), budget_);
  accounts_[static_cast<size_t>(account)] += bytes;
  held_ += bytes;
  peak_ = std::max(peak_, held_);
}

void DeviceLedger::give(DeviceAccount account, int64_t bytes) noexcept {
  const MutexLock lock(mutex_);
  accounts_[static_cast<size_t>(account)] -= bytes;
  held_ -= bytes;
}

int64_t DeviceLedger::held() const {
  const MutexLock lock(mutex_);
  return held_;
}

int64_t DeviceLedger::held(DeviceAccount account) const {
  const MutexLock lock(mutex_);
  return accounts_[static_cast<size_t>(account)];
}

int64_t DeviceLedger::peak() const {
  const MutexLock lock(mutex_);
  return peak_;
}

int64_t DeviceLedger::budget() const {
  const MutexLock lock(mutex_);
  return budget_;
}

void DeviceLedger::set_budget(int64_t budget) {
  const MutexLock lock(mutex_);
  budget_ = budget;
}

}  // namespace plimsoll
