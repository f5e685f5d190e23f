#pragma once

#include <string>

#include "ingest/tables/key_lookup.h"
#include "store/data_set.h"

namespace plimsoll {

/// Writes the lists of nodes that are the targets of a recommendation. If the index needs a sort, all lists
/// must first be added and seal() called. Then find() and write() are called for some lists at a time, in the
/// same order. Keys without a node are dropped and counted. Not thread-safe. Errors: Failure (disk),
/// BudgetExceeded, InputError.
class TargetNodes {
 public:
  /// `where` names the column in messages. The index of `destination` must outlive this object. Errors:
  /// InputError if its keys are not whole numbers.
  TargetNodes(const TableScratch& scratch, const std::string& name, const NodeTypeState& destination,
              std::string where);

  /// Adds the keys in some lists.
  void add(const ArrowType& type, const Values& lists);
  void seal() { nodes_.seal(); }
  /// Creates the columns `values` and `ptr`, to which write() appends.
  void open(DataSetWriter& set, const std::string& values, const std::string& ptr);
  /// Finds the nodes of the next lists, and sets `kept` to 0 for lists without any.
  void find(const ArrowType& type, const Values& lists, Vector<uint8_t, Tag::ingest>& kept);
  /// Writes the lists of the last find() for which `kept` is 1. Call it once after each find().
  void write(std::span<const uint8_t> kept);
  int64_t dangling() const { return dangling_; }

 private:
  void require_numbers(const ArrowType& type) const;

  std::string where_;
  const KeyIndex& index_;
  KeyLookup nodes_;
  NpyWriter* values_ = nullptr;
  NpyWriter* ptr_ = nullptr;
  Vector<uint32_t, Tag::ingest> found_;
  Vector<int64_t, Tag::ingest> ends_;  // End of each list in found_.
  int64_t written_ = 0, dangling_ = 0;
};

}  // namespace plimsoll
