#include <nanobind/stl/filesystem.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include "base/json.h"
#include "memory/ledger.h"
#include "memory/meter.h"
#include "run/run_lock.h"
#include "run/tracker_process.h"
#include "telemetry/journal.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

using BytesOfTag = int64_t (Ledger::*)(Tag) const;

Json by_tag(BytesOfTag bytes) {
  Json tags = Json::object();
  for (int t = 0; t < kTags; ++t) {
    const Tag tag = static_cast<Tag>(t);
    tags[tag_name(tag)] = (Ledger::process().*bytes)(tag);
  }
  return tags;
}

// Memory of the process and of the ledger, as JSON; peaks are counted since begin_peak().
std::string memory_now() {
  const ProcessMemory process = process_memory();
  const auto group = cgroup_memory();
  const Ledger& ledger = Ledger::process();
  return Json({{"anonymous", process.anonymous},
               {"page_cache", process.file_backed},
               {"cgroup", group ? group->bytes : 0},
               {"cap", ledger.cap() == Ledger::kUnlimited ? Json() : Json(ledger.cap())},
               {"held", ledger.held()},
               {"held_by_tag", by_tag(&Ledger::held)},
               {"peak", ledger.recent_peak()},
               {"peak_by_tag", by_tag(&Ledger::recent_peak)}})
      .dump();
}

}  // namespace

void bind_journals(nb::module_& module) {
  nb::class_<Journal>(module, "Journal")
      .def(nb::init<const std::filesystem::path&>())
      .def("write", [](Journal& journal, const std::string& event, const std::string& fields) {
        journal.write(event, Json::parse(fields));
      });
  nb::class_<RunLock>(module, "RunLock").def(nb::init<std::filesystem::path>());
  nb::class_<TrackerProcess>(module, "TrackerProcess")
      .def(nb::init<const std::filesystem::path&, const std::vector<std::string>&>(),
           nb::call_guard<nb::gil_scoped_release>())
      .def("follow", &TrackerProcess::follow);
  module.def("memory_now", &memory_now);
}

}  // namespace plimsoll
