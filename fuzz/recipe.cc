#include "can/recipe/can_sections.h"

#include "fuzz/property.h"

// Lines that begin with "-O " are overrides, all others the recipe.
extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  using namespace plimsoll;
  [[maybe_unused]] static const bool registered = (register_can_recipe(), true);
  std::string yaml;
  std::vector<std::string> overrides;
  for (std::string_view text = text_of(data, size); !text.empty();) {
    const std::string_view line = take_line(text);
    if (line.starts_with("-O "))
      overrides.emplace_back(line.substr(3));
    else
      yaml.append(line) += '\n';
  }
  succeeds([&] {
    const Recipe recipe = parse_recipe(yaml, "recipe.yaml", overrides);
    const std::string printed = recipe_yaml(recipe);
    expect(recipe_yaml(parse_recipe(printed, "printed.yaml", {})) == printed,
           "a printed recipe is the same recipe");
  });
  return 0;
}
