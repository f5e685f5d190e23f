#include <fmt/format.h>

#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "store/verify.h"

namespace plimsoll {

void add_verify(CLI::App& app) {
  struct Options {
    std::string folder;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("verify", "Check every checksum, offset and index of a data set");
  verb->add_option("DIR", options->folder, "The folder of a data set")->required();
  verb->add_flag("--json", options->json, "Print the findings as JSON");
  verb->footer("Example: plimsoll verify graphs");
  verb->callback([options] {
    const std::vector<std::string> wrong = verify_data_set(options->folder);
    if (options->json)
      print_json({{"folder", options->folder}, {"whole", wrong.empty()}, {"findings", wrong}});
    if (!options->json && wrong.empty()) fmt::print("{}: intact\n", options->folder);
    if (wrong.empty()) return;
    std::string text = options->folder + ": damaged; make the data set again";
    for (const std::string& finding : wrong) text += "\n  " + finding;
    throw InputError(text);
  });
}

}  // namespace plimsoll
