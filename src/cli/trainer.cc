#include "cli/trainer.h"

#include <malloc.h>

#include <cstdlib>
#include <cstring>
#include <iostream>

#include "cli/known_tasks.h"
#include "cli/train_verb.h"
#include "ops/allocator.h"

namespace plimsoll {
namespace {

// Keeps freed memory: blocks take and give back the same few MB again and again, and the pages of memory that
// malloc keeps are already mapped. The ledger, not malloc, limits how much is held at once.
void keep_freed_memory() {
  mallopt(M_MMAP_MAX, 0);
  mallopt(M_TRIM_THRESHOLD, 1 << 30);
  mallopt(M_TOP_PAD, 16 << 20);
  // Memory that threads free in arenas of their own cannot be reused by other threads, and is never returned.
  // Tensors are in the slab, so that threads seldom contend in malloc.
  mallopt(M_ARENA_MAX, 1);
}

}  // namespace

int run_trainer(int argc, char** argv, Exchange* exchange, int sharers) {
  const char* const caller = std::getenv(kBuildVariable);
  if (caller != nullptr && std::strcmp(caller, build_id()) != 0) {
    std::cerr << "plimsoll: what trains is of build " << build_id() << ", plimsoll of build " << caller
              << "; build both together (make build)\n";
    return 1;
  }
  keep_freed_memory();
  register_known_tasks();
  install_ledger_allocator();

  CLI::App app("Train graph neural networks inside a stated memory budget.", "plimsoll");
  const auto run = [&](auto options, RunsIn) {
    options.resources.sharers = sharers;
    run_verb(options, exchange);
  };
  for (const Verb& verb : trainer_verbs(run)) verb.add(app);
  return run_command(app, argc, argv);
}

}  // namespace plimsoll
