#pragma once

#include <nanobind/ndarray.h>

#include <filesystem>
#include <memory>
#include <string>
#include <tuple>

#include "bindings.h"
#include "can/frames/frames.h"
#include "store/graph.h"
#include "store/graph_set.h"

namespace plimsoll {

/// The mapping of a data set, with a view that has checked the guarantees of its kind. Each returned array
/// keeps the mapping alive.
class Mapping {
 public:
  Mapping(const std::filesystem::path& folder, const std::string& kind);

  void close();
  bool closed() const { return view_ == nullptr; }
  std::string manifest() const { return view().manifest().dump(); }
  bool has_column(const std::string& name) const { return view().has_column(name); }
  nb::ndarray<nb::numpy, nb::ro> column(const std::string& name) const;
  /// Copies the rows of a graph's x from node `first` on, as f32. Errors: UsageError (rows that do not
  /// exist).
  void copy_x(int64_t first, nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) const;
  /// Path, device and inode of a column's file, and the byte at which its elements begin.
  std::tuple<std::string, uint64_t, uint64_t, int64_t> file(const std::string& column) const;
  /// Null if the data set is of another kind. Errors: UsageError if it is closed.
  std::shared_ptr<const GraphSetView> graph_set() const;
  std::shared_ptr<const GraphView> graph() const;
  const DataSetView& view() const;

 private:
  const NpyView& npy_of(const std::string& column) const;

  std::shared_ptr<const DataSetView> view_;
  std::shared_ptr<const GraphSetView> graph_set_;
  std::shared_ptr<const GraphView> graph_;
};

}  // namespace plimsoll
