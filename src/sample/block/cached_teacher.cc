#include "sample/block/cached_teacher.h"

#include <fmt/format.h>

#include "base/error.h"

namespace plimsoll {

CachedTeacher::CachedTeacher(const BlockSource& source, const Column& column, std::span<const int64_t> graphs,
                             std::span<const GraphShape> shapes)
    : source_(source), column_(column), shapes_(shapes) {
  first_row_.assign(shapes.size(), -1);
  int64_t rows = 0;
  for (const int64_t g : graphs) {
    first_row_[static_cast<size_t>(g)] = rows;
    rows += column.of_nodes ? shapes[static_cast<size_t>(g)].nodes : 1;
  }
  const auto expected = static_cast<size_t>(rows * column.width);
  if (!column.values.empty() && column.values.size() != expected)
    throw InputError(fmt::format("a teacher's column has {} numbers, expected {} rows of {} numbers",
                                 column.values.size(), rows, column.width));
}

RowWidths CachedTeacher::with_teacher(RowWidths widths) const {
  widths.teacher = {column_.width, column_.of_nodes};
  return widths;
}

void CachedTeacher::read(std::span<const int64_t> graphs, GraphBlock& block) const {
  source_.read(graphs, block);
  block.teacher.clear();
  for (const int64_t g : graphs) {
    const int64_t row = first_row_[static_cast<size_t>(g)];
    if (row < 0) throw Failure(fmt::format("graph {} is not in the teacher's column", g));
    const int64_t rows = column_.of_nodes ? shapes_[static_cast<size_t>(g)].nodes : 1;
    const auto count = static_cast<size_t>(rows * column_.width);
    if (column_.values.empty()) {
      block.teacher.resize(block.teacher.size() + count, 0.0F);
      continue;
    }
    const auto values = column_.values.subspan(static_cast<size_t>(row * column_.width), count);
    block.teacher.insert(block.teacher.end(), values.begin(), values.end());
  }
}

}  // namespace plimsoll
