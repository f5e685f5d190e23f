#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/units.h"
#include "bindings.h"
#include "ingest/tables/tables.h"
#include "memory/budget_scope.h"
#include "watched.h"

namespace plimsoll {
namespace {

/// A stream that its last owner releases, unless it was moved out.
struct OwnedStream {
  ArrowArrayStream stream{};
  OwnedStream() = default;
  OwnedStream(const OwnedStream&) = delete;
  OwnedStream& operator=(const OwnedStream&) = delete;
  ~OwnedStream() {
    if (stream.release != nullptr) stream.release(&stream);
  }
};

// Moves the stream out of a capsule, as Arrow's PyCapsule interface defines it.
void set_stream(TableSpec& table, const nb::object& capsule) {
  constexpr const char* kName = "arrow_array_stream";
  auto* const given = static_cast<ArrowArrayStream*>(PyCapsule_GetPointer(capsule.ptr(), kName));
  if (given == nullptr) throw nb::python_error();
  const auto owned = std::make_shared<OwnedStream>();
  owned->stream = std::exchange(*given, {});
  table.open = [owned](ArrowArrayStream& stream) { stream = std::exchange(owned->stream, {}); };
}

void make_tables(std::vector<TableSpec> tables, bool reverse, const std::filesystem::path& out, bool force,
                 const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  const TablesOptions options{.tables = std::move(tables), .reverse = reverse, .out = out, .force = force};
  run_watched(progress,
              [&](const Progress& note) { ingest_tables(options, [&](int64_t rows) { note(rows, 0); }); });
}

}  // namespace

void bind_table_making(nb::module_& module) {
  nb::class_<TableSpec>(module, "TableSpec")
      .def("__init__", [](TableSpec* self,
                          std::string name) { new (self) TableSpec{.name = std::move(name), .open = {}}; })
      .def_rw("key", &TableSpec::key)
      .def_rw("time", &TableSpec::time)
      .def_rw("time_unit", &TableSpec::time_unit)
      .def_rw("meanings", &TableSpec::meanings)
      .def_rw("as_edge", &TableSpec::as_edge)
      .def_rw("edge", &TableSpec::edge)
      .def("add_foreign_key",
           [](TableSpec& self, std::vector<std::string> columns, std::string table) {
             self.foreign_keys.push_back({std::move(columns), std::move(table)});
           })
      .def("set_stream", set_stream);
  module.def("make_tables", make_tables, nb::arg("tables"), nb::arg("reverse"), nb::arg("out"),
             nb::arg("force"), nb::arg("budget"), nb::arg("progress").none());
}

}  // namespace plimsoll
