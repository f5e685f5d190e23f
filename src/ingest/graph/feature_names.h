#pragma once

#include <string>
#include <vector>

#include "memory/charge.h"

namespace plimsoll {

/// Names of features. The bytes entered in the ledger include later copies in the tables of a graph and in
/// its manifest. Not thread-safe.
class FeatureNames {
 public:
  static constexpr int64_t kMax = int64_t{1} << 20;  ///< Maximum number of names.

  /// Adds a name. Errors: InputError, whose text begins with `where`, for more than kMax names;
  /// BudgetExceeded.
  void add(std::string name, const std::string& where);
  /// Adds the names feature_0, feature_1 and so on. Errors: the same.
  void add_numbers(int64_t count, const std::string& where);

  const std::vector<std::string>& all() const { return names_; }
  size_t size() const { return names_.size(); }
  bool empty() const { return names_.empty(); }

 private:
  void require_room(int64_t count, const std::string& where) const;

  Charge charge_{Tag::ingest};
  std::vector<std::string> names_;
};

}  // namespace plimsoll
