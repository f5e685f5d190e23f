#pragma once

#include "memory/ledger.h"

namespace plimsoll {

/// Lets the ledger of the process hold `free` bytes more than now, until the scope ends.
class LedgerCap {
 public:
  explicit LedgerCap(int64_t free) { Ledger::process().set_cap(Ledger::process().held() + free); }
  ~LedgerCap() { Ledger::process().set_cap(Ledger::kUnlimited); }
  LedgerCap(const LedgerCap&) = delete;
  LedgerCap& operator=(const LedgerCap&) = delete;
};

}  // namespace plimsoll
