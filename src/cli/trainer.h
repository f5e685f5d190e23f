#pragma once

#include "engine/blocks/exchange.h"

namespace plimsoll {

/// Runs a verb that needs torch from a command line of `plimsoll` (docs/command-line.md). It is the main
/// function of plimsoll-train and of a rank in a Python process; a process calls it at most once, because it
/// makes the ledger count torch's memory and malloc keep freed memory. Returns the exit code: 1 if the
/// variable kBuildVariable names another build. `exchange` connects the ranks; null: a single process.
/// `sharers` is the number of processes of the run on this machine.
int run_trainer(int argc, char** argv, Exchange* exchange = nullptr, int sharers = 1);

}  // namespace plimsoll
