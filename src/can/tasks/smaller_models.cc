#include "can/tasks/smaller_models.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <string>

#include "can/recipe/can_sections.h"

namespace plimsoll {
namespace {

void add_gat(std::vector<RecipeChange>& changes, const std::string& section, const GatOptions& gat,
             const std::function<GatOptions&(Recipe&)>& gat_of) {
  add_half(changes, section + ".heads", gat.heads,
           [gat_of](Recipe& r) -> int64_t& { return gat_of(r).heads; });
  add_half(changes, section + ".hidden", gat.hidden,
           [gat_of](Recipe& r) -> int64_t& { return gat_of(r).hidden; });
  add_half(changes, section + ".layers", gat.layers,
           [gat_of](Recipe& r) -> int64_t& { return gat_of(r).layers; });
}

void add_vgae(std::vector<RecipeChange>& changes, const std::string& section, const VgaeOptions& vgae,
              const std::function<VgaeOptions&(Recipe&)>& vgae_of) {
  std::string halves;
  for (const int64_t width : vgae.hidden)
    halves += fmt::format("{}{}", halves.empty() ? "" : ", ", std::max<int64_t>(width / 2, 1));
  changes.push_back({fmt::format("{}.hidden=[{}]", section, halves), [vgae_of](Recipe& r) {
                       for (int64_t& width : vgae_of(r).hidden) width = std::max<int64_t>(width / 2, 1);
                     }});
}

}  // namespace

void add_smaller_gat(std::vector<RecipeChange>& changes, const Recipe& recipe) {
  add_gat(changes, "gat", can_sections(recipe).gat,
          [](Recipe& r) -> GatOptions& { return can_sections(r).gat; });
}

void add_smaller_vgae(std::vector<RecipeChange>& changes, const Recipe& recipe) {
  add_vgae(changes, "vgae", can_sections(recipe).vgae,
           [](Recipe& r) -> VgaeOptions& { return can_sections(r).vgae; });
}

void add_smaller_teachers(std::vector<RecipeChange>& changes, const Recipe& recipe) {
  add_gat(changes, "teacher.gat", can_sections(recipe).teacher.gat,
          [](Recipe& r) -> GatOptions& { return can_sections(r).teacher.gat; });
  add_vgae(changes, "teacher.vgae", can_sections(recipe).teacher.vgae,
           [](Recipe& r) -> VgaeOptions& { return can_sections(r).teacher.vgae; });
}

}  // namespace plimsoll
