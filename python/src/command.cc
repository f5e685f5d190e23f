#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>

#include <memory>
#include <string>
#include <vector>

#include "cli/trainer.h"
#include "cluster/process_group.h"
#include "torch_bindings.h"

namespace plimsoll {
namespace {

// A verb in this process, which has nothing else to do. `group` names the process group of the run's ranks;
// empty: there are none. `who_is_lost` is called where the group fails, and says which rank is gone.
int command(std::vector<std::string> arguments, const std::string& group, int sharers,
            const nb::callable& who_is_lost) {
  const nb::gil_scoped_release release;
  std::unique_ptr<Exchange> exchange;
  if (!group.empty())
    exchange = join_process_group(group, [&] {
      const nb::gil_scoped_acquire lock;
      return nb::cast<std::string>(who_is_lost());
    });
  std::vector<char*> pointers;
  for (std::string& argument : arguments) pointers.push_back(argument.data());
  pointers.push_back(nullptr);
  return run_trainer(static_cast<int>(arguments.size()), pointers.data(), exchange.get(), sharers);
}

}  // namespace

void bind_command(nb::module_& module) {
  module.def("command", command);
}

}  // namespace plimsoll
