#include <fmt/format.h>

#include <memory>

#include "cli/command.h"
#include "cli/verbs.h"
#include "job/job_report.h"

namespace plimsoll {

void add_job_report(CLI::App& app) {
  struct Options {
    std::filesystem::path run;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand(
      "job-report", "Report how much of a job's resources its run used, and what to request next time");
  verb->add_option("RUN", options->run, "The folder of a run")->required();
  verb->add_flag("--json", options->json, "Print the report as JSON");
  verb->footer("Example: plimsoll job-report runs/gat");
  verb->callback([options] {
    const Json report = job_report(options->run);
    if (options->json) return print_json(report);
    fmt::print("{}", job_report_text(report));
  });
}

}  // namespace plimsoll
