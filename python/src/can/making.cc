#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/map.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <string>

#include "base/units.h"
#include "bindings.h"
#include "can/capture/ingest.h"
#include "can/simulate/simulate.h"
#include "can/windows/windows_set.h"
#include "memory/budget_scope.h"
#include "watched.h"

namespace plimsoll {
namespace {

// The work of the verbs of CAN that make data sets, with their default budgets.

void make_frames(const IngestOptions& options, const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  run_watched(progress, [&](const Progress& note) { ingest_can(options, note); });
}

void make_windows(const WindowsSetOptions& options, const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget);
  run_watched(progress, [&](const Progress& note) { make_windows_set(options, note); });
}

void make_traffic(const SimulateOptions& options, const std::string& budget, const nb::object& progress) {
  const BudgetScope scope(budget, 256 * kMiB);
  run_watched(progress, [&](const Progress& note) { simulate_can(options, note); });
}

void bind_ingest_options(nb::module_& module) {
  nb::class_<FormatOptions>(module, "FormatOptions")
      .def_rw("name", &FormatOptions::name)
      .def_rw("payload", &FormatOptions::payload)
      .def_rw("channel", &FormatOptions::channel)
      .def_rw("channel_names", &FormatOptions::channel_names)
      .def_rw("merge_channels", &FormatOptions::merge_channels)
      .def_rw("benign", &FormatOptions::benign)
      .def_rw("refuse_truncated", &FormatOptions::refuse_truncated)
      .def_rw("attack_labels", &FormatOptions::attack_labels)
      .def_rw("columns", &FormatOptions::columns)
      .def_rw("separator", &FormatOptions::separator)
      .def_rw("quote", &FormatOptions::quote)
      .def_rw("decimal_id", &FormatOptions::decimal_id)
      .def_rw("decimal_bytes", &FormatOptions::decimal_bytes)
      .def_prop_rw(
          "time", [](const FormatOptions& self) { return std::string(self.time ? word_of(*self.time) : ""); },
          [](FormatOptions& self, const std::string& word) {
            self.time = word.empty() ? std::nullopt : std::optional(parse_word<TimeUnit>(word, "time"));
          })
      .def_rw("length_in_bits", &FormatOptions::length_in_bits);
  nb::class_<IngestOptions>(module, "IngestOptions")
      .def(nb::init<>())
      .def_rw("sources", &IngestOptions::sources)
      .def_rw("out", &IngestOptions::out)
      .def_rw("force", &IngestOptions::force)
      .def_rw("split", &IngestOptions::split)
      .def_rw("format", &IngestOptions::format)
      .def_rw("skip_errors", &IngestOptions::skip_errors)
      .def_rw("skip_limit", &IngestOptions::skip_limit)
      .def_rw("threads", &IngestOptions::threads)
      .def("set_shard",
           [](IngestOptions& self, const std::string& text) { self.shard = Shard::parse(text); });
}

void bind_windows_options(nb::module_& module) {
  nb::class_<WindowsSetOptions>(module, "WindowsOptions")
      .def(nb::init<>())
      .def_rw("frames", &WindowsSetOptions::frames)
      .def_rw("out", &WindowsSetOptions::out)
      .def_rw("force", &WindowsSetOptions::force)
      .def_rw("threads", &WindowsSetOptions::threads)
      .def_prop_rw(
          "features",
          [](const WindowsSetOptions& self) { return std::string(word_of(self.windows.features)); },
          [](WindowsSetOptions& self, const std::string& word) {
            self.windows.features = parse_word<WindowFeatures>(word, "features");
          })
      .def_prop_rw(
          "vocabulary_from", [](const WindowsSetOptions& self) { return self.windows.learn_from.splits; },
          [](WindowsSetOptions& self, std::vector<std::string> splits) {
            self.windows.learn_from.splits = std::move(splits);
          })
      .def_prop_rw(
          "calibrate", [](const WindowsSetOptions& self) { return self.windows.calibration.windows; },
          [](WindowsSetOptions& self, int64_t windows) { self.windows.calibration.windows = windows; })
      .def("set_shard",
           [](WindowsSetOptions& self, const std::string& text) { self.shard = Shard::parse(text); })
      .def("set_lengths", &WindowsSetOptions::set_lengths);
}

void bind_simulate_options(nb::module_& module) {
  nb::class_<SimulateOptions>(module, "SimulateOptions")
      .def(nb::init<>())
      .def_rw("out", &SimulateOptions::out)
      .def_rw("frames", &SimulateOptions::frames)
      .def_rw("seed", &SimulateOptions::seed)
      .def_rw("vehicles", &SimulateOptions::vehicles)
      .def_rw("force", &SimulateOptions::force)
      .def("set_attacks",
           [](SimulateOptions& self, const std::string& names) { self.attacks = parse_attacks(names); });
}

}  // namespace

void bind_can_making(nb::module_& module) {
  bind_ingest_options(module);
  bind_windows_options(module);
  bind_simulate_options(module);
  const auto define = [&](const char* name, auto function) {
    module.def(name, function, nb::arg("options"), nb::arg("budget"), nb::arg("progress").none());
  };
  define("make_frames", make_frames);
  define("make_windows", make_windows);
  define("make_traffic", make_traffic);
}

}  // namespace plimsoll
