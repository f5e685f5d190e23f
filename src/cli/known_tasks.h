#pragma once

namespace plimsoll {

/// Makes all tasks of this program known (run/task.h). Programs and tests call it once when they start.
void register_known_tasks();

}  // namespace plimsoll
