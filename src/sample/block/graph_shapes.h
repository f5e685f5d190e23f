#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>

namespace plimsoll {

/// Sizes of one graph. They determine the memory that its block needs.
struct GraphShape {
  int32_t nodes = 0;
  int32_t edges = 0;
  int32_t self_loops = 0;            ///< Number of edges that are self-loops.
  int32_t max_in = 0;                ///< Maximum in-degree.
  int32_t max_in_without_loops = 0;  ///< Maximum in-degree without self-loops.
  int32_t label = 0;                 ///< Class of the graph.
  int32_t labelled_nodes = 0;        ///< Nodes with a class or a target.
  int32_t highest_node_label = -1;   ///< -1 if no node is labelled.
  int32_t pairs = 0;                 ///< Node pairs to predict.
};

/// The graphs of a source that have no stored shape of their own, but one that bounds their sizes. Either
/// graphs first .. end-1, whose sizes are not known before the run, share one shape; or graphs repeat
/// (`period`).
struct BoundedGraphs {
  int64_t first = 0;
  int64_t end = 0;
  /// If above 0, only graphs 0 .. period-1 have stored shapes. Graph g consists of the same seeds as graph g
  /// % period, in another epoch, and the stored shape of that graph bounds both.
  int64_t period = 0;

  bool empty() const { return first == end; }
  bool contains(int64_t graph) const { return first <= graph && graph < end; }
  /// Returns the index of the stored shape of a graph; bounded graphs share one stored shape.
  size_t place_of(int64_t graph) const {
    if (period > 0) return static_cast<size_t>(graph % period);
    if (graph < first || empty()) return static_cast<size_t>(graph);
    return static_cast<size_t>(graph < end ? first : graph - (end - first) + 1);
  }
  /// Returns how many shapes are stored for `graphs` graphs.
  int64_t places(int64_t graphs) const { return empty() ? graphs : graphs - (end - first) + 1; }
};

/// The shapes of the graphs of a source (BlockSource::shapes), by graph. The stored shapes must outlive it.
class GraphShapes {
 public:
  GraphShapes() = default;
  /// Each graph has its own shape.
  template <typename Range>
  requires std::is_convertible_v<const Range&, std::span<const GraphShape>> GraphShapes(
      const Range& stored)  // NOLINT(google-explicit-constructor): a list of shapes is one of these.
      : GraphShapes(std::span<const GraphShape>(stored), {}) {}
  /// `bounded` is the result of BlockSource::bounded().
  GraphShapes(std::span<const GraphShape> stored, const BoundedGraphs& bounded)
      : stored_(stored), bounded_(bounded) {}

  const GraphShape& operator[](int64_t graph) const { return stored_[bounded_.place_of(graph)]; }
  std::span<const GraphShape> stored() const { return stored_; }
  const BoundedGraphs& bounded() const { return bounded_; }

 private:
  std::span<const GraphShape> stored_;
  BoundedGraphs bounded_;
};

}  // namespace plimsoll
