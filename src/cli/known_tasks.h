#pragma once

namespace plimsoll {

/// Registers all tasks of this program (run/task.h) and, with CAN, the sections of a recipe and the kinds of
/// data set that its tasks need. Programs and tests call it once when they start, before they read a recipe.
void register_known_tasks();

}  // namespace plimsoll
