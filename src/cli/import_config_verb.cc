#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "base/error.h"
#include "base/json.h"
#include "base/version.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "config/import_config.h"
#include "io/file.h"
#include "io/replaceable.h"

namespace plimsoll {
namespace {

struct ImportConfigOptions {
  std::filesystem::path config;
  std::filesystem::path out;
  std::vector<std::string> overrides;
  bool force = false;
  bool json = false;
};

void print(const ImportConfigOptions& options, const ImportedConfig& imported) {
  if (options.json)
    return print_json(
        {{"out", options.out.string()}, {"taken", imported.taken}, {"dropped", imported.dropped}});
  fmt::print("{}: {} of {} settings\n", options.out.string(), imported.taken.size(),
             imported.taken.size() + imported.dropped.size());
  for (const std::string& line : imported.taken) fmt::print("  {}\n", line);
  if (!imported.dropped.empty()) fmt::print("dropped\n");
  for (const std::string& line : imported.dropped) fmt::print("  {}\n", line);
}

void run(const ImportConfigOptions& options) {
  require_no_source(options.out, {options.config});
  if (!options.force && std::filesystem::exists(options.out))
    throw Failure(options.out.string() + " already exists; give --force to replace it");
  if (!std::filesystem::is_regular_file(options.config))
    throw InputError(options.config.string() + ": expected a file in JSON or YAML, or a shell script (.sh)");
  const ImportedConfig imported =
      import_config(read_text(options.config), options.config.string(), options.overrides);
  write_text(options.out, fmt::format("# Made from {} by `plimsoll import config` {}.\n{}",
                                      options.config.filename().string(), kVersion, imported.recipe));
  print(options, imported);
}

}  // namespace

void add_import_config(CLI::App& import) {
  auto options = std::make_shared<ImportConfigOptions>();
  CLI::App* verb = import.add_subcommand(
      "config", "Convert a KD-GAT or Lightning configuration, or a shell script, to a recipe");
  verb->add_option("CONFIG", options->config,
                   "A file in JSON or YAML, or a shell script whose name ends in .sh")
      ->required();
  verb->add_option("--out", options->out, "Write the recipe to this file")->required()->type_name("FILE");
  verb->add_option("-O", options->overrides, "Set a key of the recipe; may be repeated")
      ->type_name("KEY=VALUE")
      ->allow_extra_args(false);
  verb->add_flag("--force", options->force, "Replace an existing output");
  verb->add_flag("--json", options->json, "Print the summary as JSON");
  verb->footer("Example: plimsoll import config config.json --out recipe.yaml");
  verb->callback([options] { run(*options); });
}

}  // namespace plimsoll
