#include <nanobind/ndarray.h>
#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <span>
#include <string>

#include "base/units.h"
#include "bindings.h"
#include "ingest/points/nearest.h"
#include "ingest/points/points.h"
#include "memory/budget_scope.h"
#include "store/merge_shards.h"
#include "watched.h"

namespace plimsoll {
namespace {

// The work of verbs that make data sets, with their default budgets.

void make_points(const PointsOptions& options, const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  run_watched(progress, [&](const Progress& note) { ingest_points(options, note); });
}

using Positions = nb::ndarray<const float, nb::ndim<2>, nb::c_contig, nb::device::cpu>;
using Edges = Vector<int32_t, Tag::ingest>;

nb::ndarray<nb::numpy, int32_t> edges_of(const Positions& pos, int64_t k) {
  auto found = std::make_unique<Edges>();
  nearest_neighbours(std::span(pos.data(), pos.size()), k, *found);
  Edges& edges = *found;
  const nb::capsule owner(found.release(), [](void* made) noexcept { delete static_cast<Edges*>(made); });
  return {edges.data(), {edges.size() / 2, 2}, owner};
}

void make_merged(MergeRequest request, const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  run_watched(progress, [&](const Progress& note) {
    request.progress = note;
    merge_shards(request);
  });
}

void bind_points_options(nb::module_& module) {
  nb::class_<PointsOptions>(module, "PointsOptions")
      .def(nb::init<>())
      .def_rw("source", &PointsOptions::source)
      .def_rw("out", &PointsOptions::out)
      .def_rw("neighbours", &PointsOptions::neighbours)
      .def_rw("dimensions", &PointsOptions::dimensions)
      .def_rw("labels", &PointsOptions::labels)
      .def_rw("targets", &PointsOptions::targets)
      .def_rw("force", &PointsOptions::force);
}

}  // namespace

void bind_making(nb::module_& module) {
  bind_points_options(module);
  nb::class_<MergeRequest>(module, "MergeOptions")
      .def("__init__", [](MergeRequest* self) { new (self) MergeRequest(); })
      .def_rw("shards", &MergeRequest::shards)
      .def_rw("out", &MergeRequest::out)
      .def_rw("force", &MergeRequest::force);
  const auto define = [&](const char* name, auto function) {
    module.def(name, function, nb::arg("options"), nb::arg("budget"), nb::arg("progress").none());
  };
  define("make_points", make_points);
  module.def("nearest_neighbours", &edges_of);
  define("make_merged", make_merged);
}

}  // namespace plimsoll
