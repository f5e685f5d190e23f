#include "ingest/swc/swc_tree.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <utility>

#include "base/error.h"

namespace plimsoll {
namespace {

constexpr int32_t kSoma = 1;
constexpr int32_t kNone = -1;

using Numbers = Vector<int32_t, Tag::ingest>;

/// A file's points by ascending id. A point is identified by its index in that order.
class SwcForest {
 public:
  SwcForest(const SwcRows& rows, const std::string& name)
      : rows_(rows.points), name_(name), order_(rows_.size()) {
    for (size_t p = 0; p < order_.size(); ++p) order_[p] = static_cast<int32_t>(p);
    const auto id_of = [&](int32_t p) { return rows_[static_cast<size_t>(p)].id; };
    if (!std::ranges::is_sorted(order_, {}, id_of)) std::ranges::stable_sort(order_, {}, id_of);
    for (size_t p = 1; p < order_.size(); ++p)
      if (point(p).id == point(p - 1).id)
        refuse(point(p), fmt::format("a unique id: line {} already has it", point(p - 1).line));
    find_parents();
    find_children();
    find_trees();
  }

  size_t points() const { return order_.size(); }
  const SwcRows::Point& point(size_t p) const { return rows_[static_cast<size_t>(order_[p])]; }
  bool is_soma(size_t p) const { return point(p).type == kSoma; }
  const Numbers& roots() const { return roots_; }

  /// soma_of() returns a soma point of a tree, or kNone: the root if it is one, otherwise the one with the
  /// lowest id. size_of() returns the number of points of the tree.
  int32_t soma_of(int32_t root) const { return soma_[static_cast<size_t>(root)]; }
  int64_t size_of(int32_t root) const { return size_[static_cast<size_t>(root)]; }
  /// Returns the root whose row is first in the file.
  int32_t first_root() const {
    return *std::ranges::min_element(roots_, {},
                                     [&](int32_t root) { return point(static_cast<size_t>(root)).line; });
  }

  /// Makes each of these points the root of its tree by reversing the path to the old root.
  void reroot(const Numbers& new_roots) {
    if (new_roots.empty()) return;
    for (const int32_t root : new_roots) {
      int32_t above = kNone;
      for (int32_t at = root; at != kNone;) {
        const int32_t next = parent_[static_cast<size_t>(at)];
        parent_[static_cast<size_t>(at)] = above;
        above = std::exchange(at, next);
      }
    }
    find_children();
  }

  /// Appends the tree at `root`; a soma with connected points becomes one node.
  void append(int32_t root, SwcTree& to, SwcChanges& changes) const {
    const Soma soma = soma_at(root);
    Numbers stack = {root};
    Numbers above = {kNone};
    while (!stack.empty()) {
      const auto p = static_cast<size_t>(stack.back());
      int32_t parent = above.back();
      stack.pop_back();
      above.pop_back();
      const bool joined = soma.points > 1 && is_soma(p) && static_cast<int32_t>(p) != soma.top;
      if (!joined) {
        const SwcRows::Point& row = point(p);
        const bool mean = soma.points > 1 && static_cast<int32_t>(p) == soma.top;
        to.nodes.push_back(mean ? soma.mean(parent)
                                : SwcTree::Node{row.x, row.y, row.z, row.radius, row.type, parent});
        parent = static_cast<int32_t>(to.nodes.size() - 1);
      }
      for (int32_t c = begin_[p + 1]; c-- > begin_[p];) {
        stack.push_back(children_[static_cast<size_t>(c)]);
        above.push_back(parent);
      }
    }
    if (soma.points > 1) changes.soma_points += soma.points - 1;
  }

 private:
  struct Soma {
    int32_t top = kNone;
    int64_t points = 0;  // 0: there is no soma, or its points are not connected.
    double x = 0, y = 0, z = 0, radius = 0;

    SwcTree::Node mean(int32_t parent) const {
      const auto mean_of = [&](double sum) { return static_cast<float>(sum / static_cast<double>(points)); };
      return {mean_of(x), mean_of(y), mean_of(z), mean_of(radius), kSoma, parent};
    }
  };

  [[noreturn]] void refuse(const SwcRows::Point& at, const std::string& expected) const {
    throw InputError(fmt::format("{}:{}: found point {} with parent {}, expected {}", name_, at.line, at.id,
                                 at.parent, expected));
  }

  void find_parents() {
    parent_.resize(points());
    const int64_t first = point(0).id;
    for (size_t p = 0; p < points(); ++p) {
      const SwcRows::Point& row = point(p);
      parent_[p] = kNone;
      if (row.parent < 0) continue;
      // If ids have no gaps, they are point indices plus the first id.
      const int64_t guess = row.parent - first;
      if (guess >= 0 && guess < static_cast<int64_t>(points()) &&
          point(static_cast<size_t>(guess)).id == row.parent) {
        parent_[p] = static_cast<int32_t>(guess);
        continue;
      }
      const auto found = std::ranges::lower_bound(
          order_, row.parent, {}, [&](int32_t index) { return rows_[static_cast<size_t>(index)].id; });
      if (found == order_.end() || rows_[static_cast<size_t>(*found)].id != row.parent)
        refuse(row, "a parent that is in the file, or -1 for a root");
      parent_[p] = static_cast<int32_t>(found - order_.begin());
    }
  }

  void find_children() {
    begin_.assign(points() + 1, 0);
    children_.resize(points());
    for (const int32_t parent : parent_)
      if (parent != kNone) ++begin_[static_cast<size_t>(parent) + 1];
    for (size_t p = 0; p < points(); ++p) begin_[p + 1] += begin_[p];
    Numbers place(begin_.begin(), begin_.end());
    for (size_t p = 0; p < points(); ++p)
      if (parent_[p] != kNone)
        children_[static_cast<size_t>(place[static_cast<size_t>(parent_[p])]++)] = static_cast<int32_t>(p);
  }

  // Calls work(point) for the points of a tree, parents first.
  template <typename Work>
  void walk(int32_t root, const Work& work) const {
    Numbers stack = {root};
    while (!stack.empty()) {
      const auto p = static_cast<size_t>(stack.back());
      stack.pop_back();
      work(p);
      stack.insert(stack.end(), children_.begin() + begin_[p], children_.begin() + begin_[p + 1]);
    }
  }

  // Points that cannot be reached from a root are on a cycle or descend from one.
  void find_trees() {
    size_.assign(points(), 0);
    soma_.assign(points(), kNone);
    std::vector<bool, LedgerAllocator<bool, Tag::ingest>> reached(points(), false);
    for (size_t r = 0; r < points(); ++r) {
      if (parent_[r] != kNone) continue;
      roots_.push_back(static_cast<int32_t>(r));
      walk(roots_.back(), [&](size_t p) {
        reached[p] = true;
        ++size_[r];
        const auto number = static_cast<int32_t>(p);
        if (is_soma(p) && (soma_[r] == kNone || (number < soma_[r] && !is_soma(r)))) soma_[r] = number;
      });
    }
    const auto lost = std::ranges::find(reached, false);
    if (lost == reached.end()) return;
    auto at = static_cast<int32_t>(lost - reached.begin());
    // This ends on the cycle.
    for (size_t step = 0; step < points(); ++step) at = parent_[static_cast<size_t>(at)];
    const int32_t start = at;
    int32_t first = at;
    int64_t length = 0;
    do {
      if (point(static_cast<size_t>(at)).line < point(static_cast<size_t>(first)).line) first = at;
      at = parent_[static_cast<size_t>(at)];
      ++length;
    } while (at != start);
    refuse(point(static_cast<size_t>(first)),
           fmt::format("a tree: the point is on a cycle of {} points, each the parent of the next", length));
  }

  // Returns the soma of a tree; it has no points unless all soma points are connected.
  Soma soma_at(int32_t root) const {
    Soma soma;
    int64_t tops = 0;
    walk(root, [&](size_t p) {
      if (!is_soma(p)) return;
      const SwcRows::Point& row = point(p);
      if (parent_[p] == kNone || !is_soma(static_cast<size_t>(parent_[p]))) {
        soma.top = static_cast<int32_t>(p);
        ++tops;
      }
      ++soma.points;
      soma.x += row.x;
      soma.y += row.y;
      soma.z += row.z;
      soma.radius += row.radius;
    });
    return tops == 1 ? soma : Soma{};
  }

  const Vector<SwcRows::Point, Tag::ingest>& rows_;
  const std::string& name_;
  Numbers order_;             // Rows by id.
  Numbers parent_;            // Parents of points.
  Numbers begin_, children_;  // Children of point p: children_[begin_[p]] .. children_[begin_[p + 1] - 1].
  Numbers size_, soma_;       // By root: what size_of() and soma_of() return.
  Numbers roots_;
};

}  // namespace

void SwcChanges::add(const SwcChanges& more) {
  dropped_points += more.dropped_points;
  soma_points += more.soma_points;
  rerooted += more.rerooted;
  without_soma += more.without_soma;
}

SwcTree make_swc_tree(const SwcRows& rows, const std::string& name, const SwcTreeOptions& options,
                      SwcChanges& changes) {
  SwcForest forest(rows, name);
  Numbers kept = forest.roots();
  if (!options.split && kept.size() > 1) {
    int32_t chosen = forest.first_root();
    if (options.root_at_soma) {
      const auto rank = [&](int32_t root) {
        return std::pair(forest.soma_of(root) != kNone, forest.size_of(root));
      };
      chosen = *std::ranges::max_element(kept, {}, rank);
    }
    kept = {chosen};
    changes.dropped_points += static_cast<int64_t>(forest.points()) - forest.size_of(chosen);
  }
  Numbers new_roots;
  for (int32_t& root : kept) {
    const int32_t soma = forest.soma_of(root);
    if (soma == kNone) ++changes.without_soma;
    if (soma == kNone || !options.root_at_soma || soma == root) continue;
    root = soma;
    new_roots.push_back(soma);
    ++changes.rerooted;
  }
  // All roots are passed in one call, because a call needs time linear in the file size.
  forest.reroot(new_roots);
  SwcTree tree;
  for (const int32_t root : kept) forest.append(root, tree, changes);
  return tree;
}

SwcTree resample(const SwcTree& tree, double step) {
  const auto& nodes = tree.nodes;
  Numbers children(nodes.size(), 0);
  for (const SwcTree::Node& node : nodes)
    if (node.parent != kNone) ++children[static_cast<size_t>(node.parent)];
  std::vector<bool, LedgerAllocator<bool, Tag::ingest>> stays(nodes.size(), false);
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (nodes[n].parent == kNone || children[n] != 1) stays[n] = true;
    if (nodes[n].parent != kNone && nodes[static_cast<size_t>(nodes[n].parent)].type != nodes[n].type)
      stays[static_cast<size_t>(nodes[n].parent)] = true;
  }

  SwcTree made;
  Numbers number(nodes.size(), kNone);  // Index in `made` of the nodes that are kept.
  Numbers chain;                        // From one node that is kept to the next.
  Vector<double, Tag::ingest> along;    // Distance of each node of the chain from the first.
  for (size_t n = 0; n < nodes.size(); ++n) {
    if (!stays[n]) continue;
    if (nodes[n].parent == kNone) {
      number[n] = static_cast<int32_t>(made.nodes.size());
      made.nodes.push_back(nodes[n]);
      continue;
    }
    chain = {static_cast<int32_t>(n)};
    do chain.push_back(nodes[static_cast<size_t>(chain.back())].parent);
    while (!stays[static_cast<size_t>(chain.back())]);
    std::ranges::reverse(chain);
    along = {0};
    for (size_t c = 1; c < chain.size(); ++c) {
      const SwcTree::Node& a = nodes[static_cast<size_t>(chain[c - 1])];
      const SwcTree::Node& b = nodes[static_cast<size_t>(chain[c])];
      along.push_back(along.back() + std::hypot(double{b.x} - a.x, double{b.y} - a.y, double{b.z} - a.z));
    }
    constexpr double kMaxPieces = 1 << 24;
    const double pieces = std::min(std::max(1.0, std::ceil(along.back() / step * (1 - 1e-12))), kMaxPieces);
    int32_t parent = number[static_cast<size_t>(chain.front())];
    size_t c = 1;
    for (double piece = 1; piece < pieces; ++piece) {
      const double at = along.back() * piece / pieces;
      while (along[c] < at) ++c;
      const SwcTree::Node& a = nodes[static_cast<size_t>(chain[c - 1])];
      const SwcTree::Node& b = nodes[static_cast<size_t>(chain[c])];
      const double share = (at - along[c - 1]) / (along[c] - along[c - 1]);
      const auto between = [&](float from, float to) {
        return static_cast<float>(from + share * (double{to} - from));
      };
      made.nodes.push_back({between(a.x, b.x), between(a.y, b.y), between(a.z, b.z),
                            between(a.radius, b.radius), nodes[n].type, parent});
      parent = static_cast<int32_t>(made.nodes.size() - 1);
    }
    number[n] = static_cast<int32_t>(made.nodes.size());
    made.nodes.push_back(nodes[n]);
    made.nodes.back().parent = parent;
  }
  return made;
}

}  // namespace plimsoll
