#include "memory/budget_scope.h"

#include <algorithm>

#include "memory/budget_caps.h"

namespace plimsoll {

BudgetScope::BudgetScope(const std::string& text, int64_t max) : bytes_(budget_bytes(text)) {
  if (text.empty() && max > 0) bytes_ = std::min(bytes_, max);
  BudgetCaps::process().add_work(bytes_);
}

BudgetScope::~BudgetScope() {
  BudgetCaps::process().remove_work(bytes_);
}

}  // namespace plimsoll
