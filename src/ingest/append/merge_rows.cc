#include "ingest/append/merge_rows.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <limits>

#include "base/error.h"
#include "ingest/append/checked_column.h"

namespace plimsoll {
namespace {

constexpr size_t kNumbersAtOnce = 16384;

/// One pass over each column of nodes.
class NodeColumnMerge {
 public:
  NodeColumnMerge(const GraphView& base, const InsertedNodes& nodes, const NewRows& added,
                  const GraphScratch& scratch, GraphWriter& writer)
      : base_(base), nodes_(nodes), added_(added), scratch_(scratch), writer_(writer) {}

  void run() {
    merge_x();
    merge_targets();
    merge_y();
    merge_splits();
    if (nodes_.count() == 0) share("x_scale");
  }

 private:
  void share(const std::string& column) {
    if (base_.set().has_column(column)) writer_.share(base_, column, scratch_.tick);
  }

  // Calls old_rows(first, count) and new_rows(first, count) for all nodes in order, and compares the column.
  template <typename Old, typename New>
  void for_each_run(const std::string& column, int64_t width, const Old& old_rows, const New& new_rows) {
    CheckedColumn check(base_.set(), column);
    const auto step = std::max<int64_t>(static_cast<int64_t>(kNumbersAtOnce) / width, 1);
    nodes_.for_each_run(step, [&](bool is_new, int64_t first, int64_t count) {
      scratch_.tick();
      if (is_new) return new_rows(first, count);
      check.read_to(first + count);
      old_rows(first, count);
    });
    check.finish();
  }

  void merge_x() {
    const int64_t width = base_.node_features();
    if (width == 0) return;
    if (nodes_.count() == 0) {
      share("x");
      return;
    }
    writer_.store_x(added_.x);
    Vector<float, Tag::ingest> x;
    const auto write = [&](const GraphView& from) {
      return [&, width](int64_t first, int64_t count) {
        x.resize(static_cast<size_t>(count * width));
        from.copy_x(first, x);
        writer_.append_x(x, width);
      };
    };
    for_each_run("x", width, write(base_), write(*added_.rows));
  }

  void merge_targets() {
    const int64_t width = base_.target_width();
    if (width == 0) return;
    if (nodes_.count() == 0) {
      share("node_target");
      return;
    }
    const auto write = [&](const GraphView& from) {
      return [&, width](int64_t first, int64_t count) {
        writer_.append_node_targets(from.node_targets().subspan(static_cast<size_t>(first * width),
                                                                static_cast<size_t>(count * width)),
                                    width);
      };
    };
    Vector<float, Tag::ingest> unknown;
    for_each_run("node_target", width, write(base_), [&](int64_t first, int64_t count) {
      if (added_.rows != nullptr && added_.rows->target_width() > 0) return write(*added_.rows)(first, count);
      unknown.assign(static_cast<size_t>(count * width), std::numeric_limits<float>::quiet_NaN());
      writer_.append_node_targets(unknown, width);
    });
  }

  void merge_y() {
    if (base_.y().empty()) return;
    if (nodes_.count() == 0) {
      share("y");
      return;
    }
    const auto part = [](std::span<const int64_t> y, int64_t first, int64_t count) {
      return y.subspan(static_cast<size_t>(first), static_cast<size_t>(count));
    };
    Vector<int64_t, Tag::ingest> y;
    for_each_run(
        "y", 1,
        [&](int64_t first, int64_t count) {
          y.clear();
          for (const int64_t was : part(base_.y(), first, count)) y.push_back(class_now(was));
          writer_.append_y(y);
        },
        [&](int64_t first, int64_t count) {
          if (added_.rows != nullptr && !added_.rows->y().empty())
            return writer_.append_y(part(added_.rows->y(), first, count));
          y.assign(static_cast<size_t>(count), -1);
          writer_.append_y(y);
        });
  }
  int64_t class_now(int64_t was) const {
    const bool known = was >= 0 && was < std::ssize(added_.classes);
    return known ? added_.classes[static_cast<size_t>(was)] : was;
  }

  // Splits of a table are written in the order of their first nodes, those of files as kGraphSplits are.
  void merge_splits() {
    std::array<size_t, kGraphSplits.size()> order = {0, 1, 2};
    if (added_.splits_by_node)
      std::ranges::stable_sort(order, {}, [&](size_t split) { return first_of(split); });
    for (const size_t split : order) merge_split(split);
  }
  std::span<const int64_t> added_split(size_t split) const {
    return added_.rows == nullptr ? std::span<const int64_t>{} : added_.rows->split(split);
  }
  int64_t added_node(int64_t index) const {
    return added_.splits_of_all ? index : nodes_.new_of_inserted(index);
  }
  int64_t node_now(int64_t old) const {
    if (old < 0 || old >= nodes_.old_nodes())
      throw InputError(fmt::format("{}: a split has the node {}, expected one of {}; make the data set again",
                                   base_.set().folder().string(), old, nodes_.old_nodes()));
    return nodes_.new_of_old(old);
  }
  int64_t first_of(size_t split) const {
    int64_t first = std::numeric_limits<int64_t>::max();
    if (!base_.split(split).empty()) first = node_now(base_.split(split).front());
    if (!added_split(split).empty()) first = std::min(first, added_node(added_split(split).front()));
    return first;
  }
  void merge_split(size_t split) {
    const std::span<const int64_t> old = base_.split(split);
    const std::span<const int64_t> more = added_split(split);
    const std::string column = std::string(kGraphSplits[split]) + "_idx";
    if (more.empty() && nodes_.keeps_numbers()) {
      share(column);
      return;
    }
    CheckedColumn check(base_.set(), column);
    Vector<int64_t, Tag::ingest> chunk;
    const auto flush = [&] {
      scratch_.tick();
      writer_.append_split(split, chunk);
      chunk.clear();
    };
    int64_t last = -1;
    for (size_t o = 0, m = 0; o < old.size() || m < more.size();) {
      check.read_to(static_cast<int64_t>(o) + 1);
      const bool is_old = m == more.size() || (o < old.size() && node_now(old[o]) <= added_node(more[m]));
      const int64_t node = is_old ? node_now(old[o++]) : added_node(more[m++]);
      if (node != last) chunk.push_back(node);
      last = node;
      if (chunk.size() == kNumbersAtOnce) flush();
    }
    if (!chunk.empty()) flush();
    check.finish();
  }

  const GraphView& base_;
  const InsertedNodes& nodes_;
  const NewRows& added_;
  const GraphScratch& scratch_;
  GraphWriter& writer_;
};

}  // namespace

void merge_rows(const GraphView& base, const InsertedNodes& nodes, const NewRows& added,
                const GraphScratch& scratch, GraphWriter& writer) {
  NodeColumnMerge(base, nodes, added, scratch, writer).run();
}

}  // namespace plimsoll
