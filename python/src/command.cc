#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/interrupt.h"
#include "cli/trainer.h"
#include "cluster/process_group.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

// Runs a verb in this process, which does nothing else. `group` names the process group of the run's ranks;
// empty: one process. If the group fails, `who_is_lost` returns a text that names the lost rank. `watch`
// receives the state of this rank.
int command(std::vector<std::string> arguments, const std::string& group, int sharers,
            const nb::callable& who_is_lost, RankWatch* watch) {
  const nb::gil_scoped_release release;
  std::unique_ptr<Exchange> exchange;
  if (!group.empty())
    exchange = join_process_group(
        group,
        [&] {
          const nb::gil_scoped_acquire lock;
          return nb::cast<std::string>(who_is_lost());
        },
        watch);
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return run_trainer(static_cast<int>(arguments.size()), pointers.data(), exchange.get(), sharers);
}

}  // namespace

void bind_command(nb::module_& module) {
  nb::class_<RankWatch>(module, "RankWatch")
      .def(nb::init<>())
      .def("begin_wait", &RankWatch::begin_wait)
      .def("end_wait", &RankWatch::end_wait)
      .def_prop_ro("waiting_s", [](const RankWatch& watch) { return watch.state().waiting_s; })
      .def_prop_ro("in_step", [](const RankWatch& watch) { return watch.state().in_step; })
      .def_prop_ro("longest_step_s", [](const RankWatch& watch) { return watch.state().longest_step_s; })
      .def_prop_ro("stopping", [](const RankWatch&) { return stop_flag().load(); })
      // Stops the run as a first signal does. If a signal follows, it still counts as the first signal of
      // this process.
      .def("stop", [](RankWatch&) { stop_flag() = true; });
  module.def("command", command, nb::arg("arguments"), nb::arg("group"), nb::arg("sharers"),
             nb::arg("who_is_lost"), nb::arg("watch").none());
}

}  // namespace plimsoll
