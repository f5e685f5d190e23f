#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/run_comparison.h"
#include "cli/verbs.h"
#include "io/file.h"
#include "io/replaceable.h"

namespace plimsoll {
namespace {

struct CompareVerbOptions {
  std::vector<std::filesystem::path> runs;
  std::filesystem::path page;
  bool json = false;
};

void run(const CompareVerbOptions& options) {
  require_no_source(options.page, options.runs);
  const RunComparison comparison = compare_runs(options.runs);
  if (options.json)
    print_json(comparison_json(comparison));
  else
    fmt::print("{}", comparison_text(comparison));
  if (options.page.empty()) return;
  const Markup page = comparison_page(comparison);
  save_printed([&] { write_text(options.page, std::string(page.data(), page.size())); });
}

}  // namespace

void add_compare(CLI::App& app) {
  auto options = std::make_shared<CompareVerbOptions>();
  CLI::App* verb = app.add_subcommand(
      "compare", "Show runs side by side: recipe, metrics, time, memory and hash of the weights");
  verb->add_option("RUN", options->runs, "Folders of two or more runs")->required()->type_name("DIR");
  verb->add_option("--page", options->page, "Also write an HTML page with curves to FILE")->type_name("FILE");
  verb->add_flag("--json", options->json, "Print the comparison as JSON");
  verb->footer("Example: plimsoll compare runs/gat runs/gat-wide --page compared.html");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
