#include <fmt/format.h>

#include <memory>

#include "base/json.h"
#include "cli/command.h"
#include "cli/verbs.h"
#include "config/known_recipes.h"
#include "telemetry/table.h"

namespace plimsoll {
namespace {

void list_recipes(bool json) {
  Table table({"<recipe", "<what it trains"});
  Json all = Json::array();
  for (const KnownRecipe& recipe : known_recipes()) {
    table.add({std::string(recipe.name), std::string(recipe.summary())});
    all.push_back({{"name", recipe.name}, {"summary", recipe.summary()}});
  }
  if (json)
    print_json({{"recipes", all}});
  else
    fmt::print("{}", table.text());
}

}  // namespace

void add_recipes(CLI::App& app) {
  struct Options {
    std::string name;
    bool json = false;
  };
  auto options = std::make_shared<Options>();
  CLI::App* verb = app.add_subcommand("recipes", "List the built-in recipes, or print one");
  verb->add_option("NAME", options->name, "Print this recipe as a starting point for your own");
  verb->add_flag("--json", options->json, "Print the list, or the text of the recipe, as JSON");
  verb->footer("Example: plimsoll recipes gat > mine.yaml");
  verb->callback([options] {
    if (options->name.empty()) return list_recipes(options->json);
    const std::string text = read_recipe(options->name);
    if (options->json)
      print_json({{"name", options->name}, {"text", text}});
    else
      fmt::print("{}", text);
  });
}

}  // namespace plimsoll
