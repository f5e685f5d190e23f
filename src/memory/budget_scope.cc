#include "memory/budget_scope.h"

#include <algorithm>
#include <mutex>
#include <vector>

#include "base/units.h"
#include "memory/ledger.h"
#include "memory/limits.h"

namespace plimsoll {
namespace {

/// All scopes that live.
struct Scopes {
  std::mutex mutex;
  int64_t count = 0;
  int64_t bytes = 0;       // the sum of their budgets
  int64_t foundation = 0;  // what the ledger held when the first one began
  int64_t cap_before = 0;

  void apply() const {
    Ledger::process().set_cap(count == 0 ? cap_before
                                         : foundation + std::min(bytes, cap_before - foundation));
  }
};

Scopes& scopes() {
  static Scopes all;
  return all;
}

int64_t bytes_of(const std::string& text, int64_t most) {
  const std::vector<Limit> limits = find_limits();
  if (!text.empty()) return parse_size(text, usable_memory(limits));
  const int64_t limit = default_budget(limits);
  return most > 0 ? std::min(most, limit) : limit;
}

}  // namespace

BudgetScope::BudgetScope(const std::string& text, int64_t most) : bytes_(bytes_of(text, most)) {
  Scopes& all = scopes();
  const std::lock_guard lock(all.mutex);
  if (all.count++ == 0) {
    all.cap_before = Ledger::process().cap();
    all.foundation = std::min(Ledger::process().held(), all.cap_before);
  }
  all.bytes += bytes_;
  all.apply();
}

BudgetScope::~BudgetScope() {
  Scopes& all = scopes();
  const std::lock_guard lock(all.mutex);
  --all.count;
  all.bytes -= bytes_;
  all.apply();
}

}  // namespace plimsoll
