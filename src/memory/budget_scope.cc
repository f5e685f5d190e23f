#include "memory/budget_scope.h"

#include <algorithm>

#include "memory/budget_caps.h"

namespace plimsoll {

BudgetScope::BudgetScope(const std::string& text, int64_t most) : bytes_(budget_bytes(text)) {
  if (text.empty() && most > 0) bytes_ = std::min(bytes_, most);
  BudgetCaps::process().add_work(bytes_);
}

BudgetScope::~BudgetScope() {
  BudgetCaps::process().remove_work(bytes_);
}

}  // namespace plimsoll
