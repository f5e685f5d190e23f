#include "ingest/tables/target_nodes.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

#include "base/error.h"
#include "ingest/tables/appender.h"

namespace plimsoll {

TargetNodes::TargetNodes(const TableScratch& scratch, const std::string& name,
                         const NodeTypeState& destination, std::string where)
    : where_(std::move(where)), index_(*destination.index), nodes_(scratch, name, index_) {
  if (!destination.index->is_number())
    throw InputError(
        fmt::format("{}: its targets are keys of '{}', which are no whole numbers; RelBench numbers "
                    "the rows of tables that tasks name",
                    where_, destination.name));
}

void TargetNodes::require_numbers(const ArrowType& type) const {
  if (type.kind == ValueKind::nothing)
    throw InputError(where_ +
                     ": has no values, expected lists of keys; add rows to the table, or remove its file");
  if (type.kind != ValueKind::list || type.item[0].kind != ValueKind::integer)
    throw InputError(
        fmt::format("{}: has the Arrow format '{}', expected lists of whole numbers, as its task is "
                    "a recommendation",
                    where_, type.format));
}

void TargetNodes::add(const ArrowType& type, const Values& lists) {
  require_numbers(type);
  const Values& items = lists.items[0];
  for (size_t item = 0; item < items.rows; ++item)
    nodes_.add(KeyColumns::of_number(items.integers[item], items.valid[item] != 0));
}

void TargetNodes::open(DataSetWriter& set, const std::string& values, const std::string& ptr) {
  values_ = &set.column<uint32_t>(values);
  ptr_ = &set.column<int64_t>(ptr);
  ptr_->append(std::span<const int64_t>(&written_, 1));
}

void TargetNodes::find(const ArrowType& type, const Values& lists, Vector<uint8_t, Tag::ingest>& kept) {
  require_numbers(type);
  const Values& items = lists.items[0];
  size_t at = 0;
  const auto next_node = [&] {
    const size_t item = at++;
    if (!index_.is_consecutive()) return nodes_.next();
    return node_of(index_, KeyColumns::of_number(items.integers[item], items.valid[item] != 0));
  };
  found_.clear();
  ends_.clear();
  for (size_t row = 0; row < lists.rows; ++row) {
    const size_t before = found_.size();
    for (int64_t item = 0; item < lists.lengths[row]; ++item) {
      const int64_t node = next_node();
      if (node < 0)
        ++dangling_;
      else
        found_.push_back(static_cast<uint32_t>(node));
    }
    if (found_.size() == before) kept[row] = 0;
    ends_.push_back(static_cast<int64_t>(found_.size()));
  }
}

void TargetNodes::write(std::span<const uint8_t> kept) {
  Appender<int64_t> ends(*ptr_);
  auto to = found_.begin();
  for (size_t row = 0; row < kept.size(); ++row) {
    if (kept[row] == 0) continue;
    const int64_t begin = row == 0 ? 0 : ends_[row - 1];
    to = std::copy(found_.begin() + begin, found_.begin() + ends_[row], to);
    ends.add(written_ += ends_[row] - begin);
  }
  ends.flush();
  values_->append(std::span<const uint32_t>(found_.data(), static_cast<size_t>(to - found_.begin())));
}

}  // namespace plimsoll
