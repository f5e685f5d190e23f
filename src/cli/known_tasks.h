#pragma once

namespace plimsoll {

/// Registers all tasks of this program (run/task.h). Programs and tests call it once when they start.
void register_known_tasks();

}  // namespace plimsoll
