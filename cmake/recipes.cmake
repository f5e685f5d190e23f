# The recipes of recipes/ as a source of module config: `plimsoll train gat` finds them from any folder and in any wheel.

file(GLOB recipes CONFIGURE_DEPENDS RELATIVE ${PROJECT_SOURCE_DIR}/recipes ${PROJECT_SOURCE_DIR}/recipes/*.yaml)
list(TRANSFORM recipes REPLACE "\\.yaml$" "")
list(SORT recipes)
set(RECIPES "")
foreach(name IN LISTS recipes)
  set_property(DIRECTORY APPEND PROPERTY CMAKE_CONFIGURE_DEPENDS ${PROJECT_SOURCE_DIR}/recipes/${name}.yaml)
  file(READ ${PROJECT_SOURCE_DIR}/recipes/${name}.yaml text)
  string(APPEND RECIPES "    {\"${name}\", R\"=====(${text})=====\"},\n")
endforeach()
configure_file(${PROJECT_SOURCE_DIR}/src/config/known_recipes.cc.in ${PROJECT_BINARY_DIR}/known_recipes.cc @ONLY)
target_sources(plimsoll_config PRIVATE ${PROJECT_BINARY_DIR}/known_recipes.cc)
