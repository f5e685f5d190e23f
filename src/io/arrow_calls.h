#pragma once

#include <cstdint>
#include <functional>

#include "base/shared_library.h"
#include "io/arrow_plugin.h"

namespace plimsoll {

/// Returns the plugin, and loads it on the first call. Errors: Failure (this build has no Arrow, or another
/// major version).
const SharedLibrary& arrow_plugin();

/// Calls `call(pool, error, bytes of error)`, in which a function of the plugin runs with the ledger of the
/// process, Tag::ingest. Errors: InputError with the function's text, which names no file; BudgetExceeded,
/// Interrupted.
void call_arrow(const std::function<int(const PlimsollArrowPool*, char*, int64_t)>& call);

/// Call it after a call on a stream of the plugin has failed. If the ledger refused memory to that call on
/// this thread, throws the refusal, once. If the process was asked to stop, throws Interrupted. Otherwise
/// returns.
void throw_if_arrow_refused();

}  // namespace plimsoll
