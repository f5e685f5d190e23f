#pragma once

#include "engine/blocks/exchange.h"

namespace plimsoll {

/// The verbs that need torch, on a command line of `plimsoll` (docs/command-line.md): what plimsoll-train is,
/// and a rank of a run in a process of Python. Has the ledger see torch's memory. Returns the exit code.
///
/// `exchange`: with the other ranks; null: there are none. `sharers`: processes of the run on
/// this machine.
int run_trainer(int argc, char** argv, Exchange* exchange = nullptr, int sharers = 1);

}  // namespace plimsoll
