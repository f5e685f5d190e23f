#include <fmt/format.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include <array>
#include <optional>

#include "base/error.h"
#include "base/units.h"
#include "bindings.h"
#include "io/replaceable.h"
#include "mapping.h"
#include "memory/budget_scope.h"
#include "store/graph_set_tables.h"
#include "store/typed_graph.h"
#include "store/verify.h"

namespace plimsoll {
namespace {

nb::dlpack::dtype dtype_of(const std::string& name) {
  if (name == "<i8") return nb::dtype<int64_t>();
  if (name == "<i4") return nb::dtype<int32_t>();
  if (name == "<u4") return nb::dtype<uint32_t>();
  if (name == "|u1") return nb::dtype<uint8_t>();
  if (name == "|i1") return nb::dtype<int8_t>();
  if (name == "<i2") return nb::dtype<int16_t>();
  if (name == "<f8") return nb::dtype<double>();
  if (name == "<u2") return nb::dtype<uint16_t>();
  if (name == "<f2") return {static_cast<uint8_t>(nb::dlpack::dtype_code::Float), 16, 1};
  return nb::dtype<float>();
}

}  // namespace

Mapping::Mapping(const std::filesystem::path& folder, const std::string& kind) {
  if (kind == "frames") {
    const auto frames = std::make_shared<const FramesView>(folder);
    view_ = {frames, &frames->set()};
  } else if (kind == "graph") {
    graph_ = std::make_shared<const GraphView>(folder);
    view_ = {graph_, &graph_->set()};
  } else if (kind == "typed_graph") {
    const auto typed = std::make_shared<const TypedGraphView>(folder);
    view_ = {typed, &typed->set()};
  } else if (kind == "predictions" || kind == "attention") {
    view_ = std::make_shared<const DataSetView>(folder, kind);
  } else {
    graph_set_ = std::make_shared<const GraphSetView>(folder);
    view_ = {graph_set_, &graph_set_->set()};
  }
}

void Mapping::close() {
  view_.reset();
  graph_set_.reset();
  graph_.reset();
}

const DataSetView& Mapping::view() const {
  if (closed()) throw UsageError("the data set is closed; open it again");
  return *view_;
}

std::shared_ptr<const GraphSetView> Mapping::graph_set() const {
  static_cast<void>(view());
  return graph_set_;
}

std::shared_ptr<const GraphView> Mapping::graph() const {
  static_cast<void>(view());
  return graph_;
}

const NpyView& Mapping::npy_of(const std::string& column) const {
  const auto found = view().columns().find(column);
  if (found == view().columns().end())
    throw UsageError(view().folder().string() + ": has no column '" + column + "'");
  return found->second;
}

std::tuple<std::string, uint64_t, uint64_t, int64_t> Mapping::file(const std::string& column) const {
  const NpyView& npy = npy_of(column);
  const FileIdentity& identity = npy.file().identity();
  return {npy.file().path(), identity.device, identity.inode, npy.offset()};
}

nb::ndarray<nb::numpy, nb::ro> Mapping::column(const std::string& name) const {
  const NpyView& npy = npy_of(name);
  std::vector<size_t> shape(npy.shape().shape.begin(), npy.shape().shape.end());
  using Owner = std::shared_ptr<const DataSetView>;
  const nb::capsule owner(new Owner(view_), [](void* held) noexcept { delete static_cast<Owner*>(held); });
  return {npy.data().data(), shape.size(), shape.data(), owner, nullptr, dtype_of(npy.shape().dtype)};
}

void Mapping::copy_x(int64_t first,
                     nb::ndarray<float, nb::ndim<2>, nb::c_contig, nb::device::cpu> out) const {
  const std::shared_ptr<const GraphView> graph = this->graph();
  const auto rows = static_cast<int64_t>(out.shape(0));
  if (first < 0 || rows > graph->nodes() - first ||
      static_cast<int64_t>(out.shape(1)) != graph->node_features())
    throw UsageError(fmt::format("rows {} .. {} of x, which is [{}, {}]", first, first + rows, graph->nodes(),
                                 graph->node_features()));
  const nb::gil_scoped_release released;
  graph->copy_x(first, std::span(out.data(), out.size()));
}

namespace {

template <typename T, int kAxes>
using Array = nb::ndarray<const T, nb::ndim<kAxes>, nb::c_contig, nb::device::cpu>;

template <typename Array>
auto span_of(const Array& array) {
  return std::span(array.data(), array.size());
}

/// A GraphSetWriter and the budget for its buffers.
class BudgetedWriter {
 public:
  BudgetedWriter(const std::filesystem::path& folder, bool replace, int64_t node_features,
                 int64_t edge_features, int64_t targets, int64_t node_targets, const std::string& budget)
      : budget_(std::in_place, budget, 256 * kMiB) {
    require_free(folder, replace, {});
    writer_.emplace(folder, replace, node_features, edge_features, TargetWidths{targets, node_targets});
  }

  void append(int64_t nodes, const Array<float, 2>& x, const Array<int32_t, 2>& edges,
              const Array<float, 2>& edge_attr, int64_t y, const std::optional<Array<int64_t, 1>>& node_y,
              const Array<float, 1>& target, const Array<float, 2>& node_target,
              const std::optional<Array<float, 2>>& pos) {
    const std::array node_ptr{int64_t{0}, nodes};
    const std::array edge_ptr{int64_t{0}, static_cast<int64_t>(edges.shape(0))};
    const GraphSpans graph{node_ptr,
                           edge_ptr,
                           span_of(x),
                           span_of(edges),
                           span_of(edge_attr),
                           std::span(&y, 1),
                           node_y ? span_of(*node_y) : std::span<const int64_t>{},
                           span_of(target),
                           span_of(node_target),
                           pos ? span_of(*pos) : std::span<const float>{}};
    writer_.value().append(graph);
  }

  /// Publishes the set. `tables` is JSON with `splits`, `features`, `recordings` and `vocabulary`, as in a
  /// manifest.
  void publish(const std::string& tables, const std::string& source) {
    Charge charge(Tag::columns);
    writer_.value().publish(tables_of_manifest(parse_json(tables), charge),
                            make_provenance({{{"kind", source}}}, Json::object()));
    abandon();
  }

  /// Removes an output that was not published.
  void abandon() {
    writer_.reset();
    budget_.reset();
  }

 private:
  std::optional<BudgetScope> budget_;
  std::optional<GraphSetWriter> writer_;
};

}  // namespace

void bind_data_sets(nb::module_& module) {
  using namespace nb::literals;
  // Two classes of the package share the kind "graph".
  module.def("kind_of", [](const std::filesystem::path& folder) {
    const Json manifest = read_manifest(folder);
    return has_node_types(manifest) ? std::string("typed_graph") : manifest.value("kind", "");
  });
  module.def("verify", verify_data_set, nb::call_guard<nb::gil_scoped_release>());
  nb::class_<Mapping>(module, "Mapping")
      .def(nb::init<const std::filesystem::path&, const std::string&>())
      .def("close", &Mapping::close)
      .def("closed", &Mapping::closed)
      .def("manifest", &Mapping::manifest)
      .def("has_column", &Mapping::has_column)
      .def("column", &Mapping::column)
      .def("copy_x", &Mapping::copy_x, "first"_a, "out"_a.noconvert())
      .def("file", &Mapping::file);
  nb::class_<BudgetedWriter>(module, "GraphWriter")
      .def(nb::init<const std::filesystem::path&, bool, int64_t, int64_t, int64_t, int64_t,
                    const std::string&>())
      .def("append", &BudgetedWriter::append, "nodes"_a, "x"_a.noconvert(), "edges"_a.noconvert(),
           "edge_attr"_a.noconvert(), "y"_a, "node_y"_a.none(), "target"_a.noconvert(),
           "node_target"_a.noconvert(), "pos"_a.none())
      .def("publish", &BudgetedWriter::publish, nb::call_guard<nb::gil_scoped_release>())
      .def("abandon", &BudgetedWriter::abandon, nb::call_guard<nb::gil_scoped_release>());
}

}  // namespace plimsoll
