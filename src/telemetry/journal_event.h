#pragma once

#include "base/words.h"

namespace plimsoll {

/// The events of a stage's journal that other parts of the program read. Journals contain other events too.
enum class JournalEvent : uint8_t {
  start,
  resume,
  epoch,
  progress,
  end,
  interrupted,
  out_of_budget,
  pressure,
  damaged_checkpoint
};
template <>
inline constexpr auto kWords<JournalEvent> =
    std::to_array<std::string_view>({"start", "resume", "epoch", "progress", "end", "interrupted",
                                     "out_of_budget", "pressure", "damaged_checkpoint"});

}  // namespace plimsoll
